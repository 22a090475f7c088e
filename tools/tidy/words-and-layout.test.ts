import { describe, expect, it } from 'vitest'
import { checkSpelling } from './american-spelling.ts'
import { checkTerms } from './banned-words.ts'
import { checkOpenings } from './comment-openings.ts'
import { checkFolders } from './folder-sizes.ts'
import { checkCycles } from './import-cycles.ts'
import { type Rule, treeOf } from './repository-tree.ts'
import { printed } from './rules.ts'

function violations(check: Rule['check'], files: Record<string, string>): string[] {
  return check(treeOf(Object.entries(files))).map(printed)
}

const filesIn = (folder: string, count: number, ending = '.ts') =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${folder}/a${index}${ending}`, '']))

describe('folders', () => {
  it('hold at most 20 source files; tests, generated code and folders below do not count', () => {
    const full = {
      ...filesIn('packages/a/src', 20),
      ...filesIn('packages/a/src', 9, '.test.ts'),
      ...filesIn('packages/a/src/b', 20),
      ...filesIn('packages/coordination/src/etcd/generated', 30),
    }
    expect(violations(checkFolders, full)).toEqual([])
    expect(violations(checkFolders, { ...full, 'packages/a/src/one-more.ts': '' })).toEqual([
      'packages/a/src:1 folder of 21 source files, at most 20 -> one folder per noun',
    ])
  })

  it('count the real processes of the cluster simulation as source', () => {
    expect(violations(checkFolders, filesIn('simulation/cluster', 21))).toHaveLength(1)
    expect(violations(checkFolders, filesIn('simulation/cluster', 21, '.test.ts'))).toEqual([])
  })
})

describe('import cycles', () => {
  it('are found through types, re-exports, dynamic imports and package names', () => {
    const found = violations(checkCycles, {
      'packages/a/package.json': '{ "exports": { "./*": "./src/*.ts" } }',
      'packages/a/src/a.ts': "import type { B } from './b.ts'",
      'packages/a/src/b.ts': "export { c } from '@lcm/a/c'",
      'packages/a/src/c.ts': "const a = await import('./a.ts')",
      'packages/a/src/d.ts': "import './a.ts'",
    })
    expect(found).toEqual([
      expect.stringMatching(/import cycle of 3 files: packages\/a\/src\/a\.ts, .*b\.ts, .*c\.ts ->/),
    ])
  })

  it('are not reported when two paths lead to one file, or a string names a module', () => {
    expect(
      violations(checkCycles, {
        'a.ts': "import './b.ts'; import './c.ts'",
        'b.ts': "import './d.ts'",
        'c.ts': "import './d.ts'",
        'd.ts': "const entry = './a.ts'",
      }),
    ).toEqual([])
  })
})

describe('spelling', () => {
  it.each([
    ['licen', 'ce'],
    ['isCancel', 'led'],
    ['misbehavio', 'ur'],
    ['Colo', 'urs'],
    ['neighbo', 'urs'],
    ['judge', 'ment'],
    ['recogni', 'sed'],
    ['organi', 'sation'],
    ['utili', 'sation'],
    ['cent', 're'],
    ['labell', 'ed'],
    ['gre', 'y'],
    ['lear', 'nt'],
  ])('stops %s%s, in code, texts and names of files', (...halves) => {
    const word = halves.join('')
    expect(violations(checkSpelling, { 'docs/a.md': `The ${word}.` })).toHaveLength(1)
    expect(violations(checkSpelling, { 'a.ts': `const ${word}_x = '${word}'` })).toHaveLength(1)
    expect(violations(checkSpelling, { [`${word}.ts`]: '' })).toHaveLength(1)
  })

  it('accepts American words, and names of other products', () => {
    const fine =
      'license canceled cancellation behavior color recognized organize otherwise promise raised fulfilled meant'
    const others = '<ul aria-labelledby="a"></ul>'
    expect(violations(checkSpelling, { 'docs/a.md': `${fine}\n${others}` })).toEqual([])
  })
})

describe('openings', () => {
  it.each([
    '// Who reads this knows more.',
    '/** Whoever reads this knows more. */',
    '/**\n * What is read here is old.\n */',
    'x() // Nobody reads this.',
    "const help = 'Those who may sign in'",
    'const help = `Somebody else has changed it`',
  ])('stop: %s', text => {
    expect(violations(checkOpenings, { 'packages/a/src/a.ts': text })).toHaveLength(1)
  })

  it('read comments of pages, settings and scripts too', () => {
    expect(violations(checkOpenings, { 'a.css': '/* Those of a card. */', 'a.py': '# Nobody asks.' })).toHaveLength(2)
  })

  it('accept continued sentences, short names, and titles of tests', () => {
    const fine = "// The reader asks\n// Who it is.\n/** Whole numbers. */\nconst who = 'Who'"
    expect(violations(checkOpenings, { 'packages/a/src/a.ts': fine })).toEqual([])
    expect(violations(checkOpenings, { 'packages/a/src/a.test.ts': "it('Who may sign in', run)" })).toEqual([])
  })
})

describe('terms', () => {
  it.each([
    ['const freeRoom = 1', 'Room'],
    ['const ROOMS_MAX = 1', 'ROOMS'],
    ["throw new Error('no room for it')", 'room'],
    ['const flights = 1', 'flights'],
    ['// A homeless session.', 'homeless'],
    ['// The worker is asleep.', 'asleep'],
    ['const sceneOf = 1', 'scene'],
    ['const hands = 1', 'hands'],
    ['const lookAgainMs = 1', 'look'],
    ['/** The next look follows. */', 'next look'],
    ['function turnOf() {}', 'turn'],
    ['// Each waits for its turn.', 'its turn'],
    ['/** Never said. */', 'said'],
    ['const toldAt = 1', 'told'],
    ['// Placed anew.', 'anew'],
    ['/** What nobody has. */', 'nobody'],
    ['// It has patience.', 'patience'],
    ['// Fixed, not mended.', 'mended'],
    ["it('a machine that goes behind our back', run)", 'behind our back'],
    ['// It is of no use.', 'of no use'],
    ['// It takes back the token: takes back.', 'takes back'],
  ])('stop: %s', (text, word) => {
    expect(violations(checkTerms, { 'packages/a/src/a.ts': text })).toEqual([
      expect.stringContaining(` the word ${word} ->`),
    ])
  })

  it('name the line, the word and what to use', () => {
    expect(violations(checkTerms, { 'packages/a/src/a.ts': '\n// Whoever asks.' })).toEqual([
      'packages/a/src/a.ts:2 the word Whoever -> the subject: a user, an operator, another writer',
    ])
  })

  it('accept the field and other words', () => {
    const fine = [
      'const inFlightMax = 1',
      'const IN_FLIGHT = 1',
      '// Looks up the key, turns it off, and hands it over.',
      'const chatroomHandsome = 1',
      'const overlooked = 1',
    ]
    expect(violations(checkTerms, { 'packages/a/src/a.ts': fine.join('\n') })).toEqual([])
  })

  it('accept stored names of released versions in their files only', () => {
    const column = "const sql = 'SELECT told FROM changes'"
    expect(violations(checkTerms, { 'packages/store/src/sqlite/change-feed.ts': column })).toEqual([])
    expect(violations(checkTerms, { 'packages/store/src/mongo/changes.ts': column })).toHaveLength(1)
  })
})
