import { expect, it } from 'vitest'
import { z } from 'zod'
import { HIDDEN_CHARACTERS, onOneLine } from './hidden-characters.ts'

const Name = onOneLine(z.string().max(40))

it.each([
  ['ESC', '\u001b[2J'],
  ['a line break', 'a\nb'],
  ['DEL', '\u007f'],
  ['CSI of C1', 'a\u009b2Jb'],
  ['NEL', '\u0085'],
  ['a right-to-left override', 'invoice\u202efdp.exe'],
  ['a right-to-left isolate', '\u2067a\u2069'],
  ['a right-to-left mark', 'a\u200fb'],
  ['an Arabic letter mark', 'a\u061cb'],
  ['a zero-width space', 'a\u200bb'],
  ['a soft hyphen', 'a\u00adb'],
  ['a byte order mark', '\ufeffa'],
  ['a line separator', 'a\u2028b'],
  ['a paragraph separator', 'a\u2029b'],
  ['a tag character', 'a\u{e0041}'],
])('refuses %s', (_name, text) => {
  expect(Name.safeParse(text).error?.issues).toMatchObject([
    { message: 'no control characters, and no invisible ones' },
  ])
})

it.each([
  ['Latin', 'Zoë 3 — training'],
  ['Arabic', 'مختبر الشبكات'],
  ['Hebrew', 'מעבדה'],
  ['Persian, with the non-joiner that its spelling needs', 'می\u200cخواهم'],
  ['Malayalam, with a joiner', 'ന\u0d4d\u200d'],
  ['an emoji of a family', '👩\u200d👩\u200d👧'],
  ['Chinese', '实验室'],
])('accepts %s', (_name, text) => {
  expect(Name.parse(text)).toBe(text)
})

it('finds runs, so that each becomes one space', () => {
  expect('a\u001b\u202eb\u200cc\u009bd'.replaceAll(HIDDEN_CHARACTERS, ' ')).toBe('a b\u200cc d')
})
