import { expect, it } from 'vitest'
import { type Column, columnWidths, printable, rowLines, tableLines } from './table.ts'

interface Pet {
  readonly name: string
  readonly kind: string
}

const columns: readonly Column<Pet>[] = [
  { title: 'NAME', text: pet => pet.name, paint: text => `<${text}>` },
  { title: 'KIND', text: pet => pet.kind },
]

it('aligns columns, shows a dash for empty cells and trims trailing spaces', () => {
  const lines = tableLines(columns.slice(0, 1).concat({ title: 'KIND', text: pet => pet.kind }), [
    { name: 'Rex', kind: 'dog' },
    { name: 'Mimi', kind: '' },
  ])
  expect(lines).toEqual(['NAME   KIND', '<Rex>    dog', '<Mimi>   -'])
})

it('counts characters, not code units', () => {
  expect(columnWidths([{ title: 'N', text: (name: string) => name }], ['🦊🦊'])).toEqual([2])
})

it('escapes control characters in cells', () => {
  expect(printable('a\u001b[2Jb\nc\u009bd')).toBe('a [2Jb c d')
  expect(printable('invoice\u202efdp.exe می\u200cخواهم')).toBe('invoice fdp.exe می\u200cخواهم')
})

it('shortens long cells except in the last column', () => {
  const long = 'x'.repeat(200)
  const [, row] = tableLines(columns, [{ name: long, kind: long }])
  expect(row).toBe(`<${'x'.repeat(47)}…>   ${long}`)
})

it('keeps column widths when rows arrive one by one', () => {
  const before = columnWidths(columns, [{ name: 'Methuselah', kind: 'tortoise' }])
  const widths = columnWidths(columns, [{ name: 'Rex', kind: 'dog' }], before)
  expect(rowLines(columns, [{ name: 'Rex', kind: 'dog' }], widths)).toEqual(['<Rex>          dog'])
})
