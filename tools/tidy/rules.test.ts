import { describe, expect, it } from 'vitest'
import { checkDocuments } from './allowed-pages.ts'
import { checkBans } from './banned-code.ts'
import { checkSizes } from './file-and-function-sizes.ts'
import { checkFileNames } from './file-names.ts'
import { checkClasses } from './inheritance.ts'
import { checkReference } from './reference-pages.ts'
import { checkRepository } from './repository-hygiene.ts'
import { type Rule, treeOf } from './repository-tree.ts'
import { printed } from './rules.ts'
import { checkTested } from './untested-files.ts'

function violations(check: Rule['check'], files: Record<string, string>): string[] {
  return check(treeOf(Object.entries(files))).map(printed)
}

const lines = (count: number, line = 'x()') => `${line}\n`.repeat(count)

describe('sizes', () => {
  it('stop at 70 lines of function, 400 of file, 140 columns and 4 parameters', () => {
    const inside = `const f = (a, b, c, d) => {\n${lines(68)}}\n${'y'.repeat(140)}\n`
    expect(violations(checkSizes, { 'packages/a/src/a.ts': inside + lines(329) })).toEqual([])
    const outside = `const f = (a, b, c, d, e) => {\n${lines(69)}}\n${'y'.repeat(141)}\n`
    expect(violations(checkSizes, { 'packages/a/src/a.ts': outside + lines(329) })).toEqual([
      'packages/a/src/a.ts:72 line of 141 columns, at most 140 -> break it, or name a part of it',
      'packages/a/src/a.ts:1 5 parameters, at most 4 -> one options object',
      'packages/a/src/a.ts:1 file of 401 lines, at most 400 -> one file per idea',
      'packages/a/src/a.ts:1 function of 71 lines, at most 70 -> name its steps',
    ])
  })

  it('accept long tests, and count the parameters of signatures', () => {
    expect(violations(checkSizes, { 'packages/a/src/a.test.ts': `it('x', () => {\n${lines(500)}})` })).toEqual([])
    expect(violations(checkSizes, { 'a.ts': 'interface A { f(a: 1, b: 2, c: 3, d: 4, e: 5): void }' })).toHaveLength(1)
  })
})

describe('bans', () => {
  const elsewhere = 'packages/store/src/a.ts'

  it.each([
    "const isOver = because.message === 'it is over'",
    'const isOver = last.because.message !== moved?.because.message',
    'const isOver = text === condition?.reason.message',
    "const isLasting = waiting_reason?.message.startsWith('unschedulable')",
    "const [first] = condition.reason.message.split(':')",
    "const isReported = because.includes('no capacity')",
    'const isReported = outcome.includes(decision.because.message)',
    'const isLimit = /limit/i.test(reason.message)',
    'const found = LIMIT.exec(because)',
  ])('a program decides by code and params: %s', text => {
    for (const path of [elsewhere, 'apps/lcm/src/a.ts', 'simulation/virtual/a.ts'])
      expect(violations(checkBans, { [path]: text }), path).toHaveLength(1)
    for (const path of ['packages/store/src/a.test.ts', 'tools/a.ts'])
      expect(violations(checkBans, { [path]: text }), path).toEqual([])
  })

  it.each([
    "const isOver = because.code === 'timeslot_over'",
    'const isSame = sameReason(last.because, moved.because)',
    "const line = [because.message, outcome].join(' -> ')",
    "const text = status === 'READY' ? because.message : ''",
    "const text = because?.message ?? 'no reason is recorded'",
    "const isGiven = desired_reason === 'created'",
    'const words = error.message.slice(0, 300)',
    'const isBusy = /locked|busy/i.test(reason)',
    'const given = reason.slice(0, 500)',
    'const isKnown = CODES.includes(reason.code)',
    "// a comment may say because.message === 'x'",
  ])('and shows the message: %s', text => {
    expect(violations(checkBans, { [elsewhere]: text })).toEqual([])
  })

  it.each([
    'const at = Date.now()',
    'const at = new Date()',
    'const at = performance.now()',
    'setTimeout(run, 5)',
    'setInterval(run, 5)',
    'setImmediate(run)',
    "import { setTimeout as sleep } from 'node:timers/promises'",
    'const signal = AbortSignal.timeout(5)',
    'const load = createRequire(import.meta.url)',
    '/// <reference types="node" />',
    'const n = Math.random()',
    "import { randomUUID } from 'node:crypto'",
    'const { HOME } = process.env',
    'console.log(1)',
    'vi.mock(path)',
    'vi.spyOn(a, b)',
    'const f = vi.fn()',
    'const a = b as any',
    'const a = b as unknown as C',
    'export default 1',
    'enum Color { Red }',
    '// @ts-ignore',
    '// @ts-expect-error: later',
    '/* TODO */',
    'x() // FIXME later',
  ])('stop: %s', text => {
    expect(violations(checkBans, { [elsewhere]: `\n${text}` })).toEqual([
      expect.stringMatching(/^packages\/store\/src\/a\.ts:2 /),
    ])
  })

  it('read code only, not strings, prose or longer words', () => {
    const fine = [
      '// It looks at the console. The enum of Date.now() is as any other.',
      `const sentence = 'call console.log, TODO: Date.now()' + \`setTimeout(\${1}\``,
      'const z1 = z.enum(names)',
      'myconsole.log(updateDate.nowhere)',
    ]
    expect(violations(checkBans, { [elsewhere]: fine.join('\n') })).toEqual([])
    expect(
      violations(checkBans, { 'apps/console/src/a.tsx': 'const a = <p>The console.log of Math.random() 😀</p>' }),
    ).toEqual([])
  })

  it('still see the code behind a string with a wide letter', () => {
    expect(violations(checkBans, { [elsewhere]: "const a = '😀'; Date.now()" })).toHaveLength(1)
    expect(violations(checkBans, { [elsewhere]: `const a = \`😀\${Date.now()}\`` })).toHaveLength(1)
  })

  it('accept the one allowed place', () => {
    const files = {
      'packages/runtime/src/clock.ts': 'const now = () => Date.now()',
      'apps/console/src/state/browser-clock.ts': 'const now = () => setTimeout(run, 1)',
      'packages/testkit/src/macrotask.ts': 'setImmediate(run)',
      'apps/lcm/src/serve/random.ts': "import { randomUUID } from 'node:crypto'",
      'apps/lcm/src/main.ts': 'run(process.env)',
      'apps/lcm/src/cli/terminal/output.ts': 'console.log(1)',
      'vitest.config.ts': 'export default {}',
    }
    expect(violations(checkBans, files)).toEqual([])
  })

  it.each(['const f = async () => 1', 'type A = Promise<1>', 'const f = (at: Date) => at', "import fs from 'node:fs'"])(
    'keep domain pure: %s',
    text => {
      expect(violations(checkBans, { 'packages/domain/src/a.ts': text })).toHaveLength(1)
      expect(violations(checkBans, { 'packages/domain/src/a.test.ts': text })).toEqual([])
      expect(violations(checkBans, { 'packages/cloud/src/a.ts': text })).toEqual([])
    },
  )
})

describe('shapes', () => {
  it('allow inheritance only for errors', () => {
    const text = 'class A extends B {}\nclass C extends Error {}\nclass D extends C {}\nclass F extends ZodError {}'
    expect(violations(checkClasses, { 'a.ts': text })).toEqual([
      'a.ts:1 class A extends B -> composition; only errors inherit',
    ])
  })

  it('refuse meaningless names', () => {
    const names = [
      'packages/a/src/utils.ts',
      'packages/a/src/x/index.ts',
      'packages/a/src/index.ts',
      'packages/a/src/lease.ts',
    ]
    const files = Object.fromEntries(names.map(name => [name, '']))
    expect(violations(checkFileNames, files).map(line => line.split(':')[0])).toEqual(names.slice(0, 2))
  })

  it('refuse a file that cannot be parsed', () => {
    expect(() => treeOf([['a.ts', 'const = ']])).toThrow("a.ts can't be parsed")
  })
})

describe('tests', () => {
  const files = {
    'packages/a/package.json': '{ "exports": { "./*": "./src/*.ts" } }',
    'packages/b/package.json': '{ "exports": { "./*": "./src/*.ts" } }',
    'packages/a/src/beside.ts': 'export const f = () => 1',
    'packages/a/src/beside.test.ts': "import { named } from '@lcm/a/root'",
    'packages/a/src/root.ts': "export { named } from './named.ts'",
    'packages/a/src/named.ts': "import './helper.ts'\nexport const f = () => 1",
    'packages/a/src/helper.ts': "import '@lcm/b/far'\nexport const f = () => 1",
    'packages/a/src/names.ts': "export const NAMES = ['a']\nexport interface A {}",
    'apps/a/src/main.ts': 'export const f = () => 1',
  }

  it('load every file with code', () => {
    expect(violations(checkTested, files)).toEqual([])
  })

  it('are reported as missing when no test of the package loads the file', () => {
    const alone = {
      'packages/a/src/alone.ts': 'export const f = () => 1',
      'packages/b/src/far.ts': 'export const f = () => 1',
    }
    expect(violations(checkTested, { ...files, ...alone })).toEqual([
      'packages/a/src/alone.ts:1 no test loads this -> a test beside it, packages/a/src/alone.test.ts',
      'packages/b/src/far.ts:1 no test loads this -> a test beside it, packages/b/src/far.test.ts',
    ])
  })
})

describe('documents', () => {
  it('are listed and short', () => {
    const fine = { 'README.md': lines(120), 'docs/guide/start.md': lines(900), 'packages/a/README.md': lines(40) }
    expect(violations(checkDocuments, fine)).toEqual([])
    const wrong = {
      'README.md': lines(121),
      'SUMMARY.md': '',
      'apps/a/NOTES.md': '',
      'packages/a/README.md': lines(41),
    }
    expect(violations(checkDocuments, wrong)).toHaveLength(4)
  })

  it('number decisions without gaps and date them', () => {
    const good = '# Title\n\n* **Status:** accepted\n* Date: 2026-11-15\n'
    expect(violations(checkDocuments, { 'docs/adr/0001-a.md': good, 'docs/adr/0002-b.md': good })).toEqual([])
    expect(violations(checkDocuments, { 'docs/adr/0001-a.md': good, 'docs/adr/0003-b.md': '# Title' })).toEqual([
      'docs/adr/0003-b.md:1 gap or double number -> 2',
      'docs/adr/0003-b.md:1 decision without Status -> a line "Status: ..."',
      'docs/adr/0003-b.md:1 decision without Date -> a line "Date: ..."',
    ])
  })
})

describe('reference pages', () => {
  const problems =
    "export const PROBLEMS = {\n  not_found: { status: 404 },\n  'too_big': { status: 413 },\n} as const\n"
  const config = 'const Env = z.object({ LCM_PORT: z.string(), HOST: z.string() })\nconst DEFAULT_PORT = 80\n'

  it('are not checked while they are missing', () => {
    expect(violations(checkReference, { 'packages/contract/src/problem-codes.ts': problems })).toEqual([])
  })

  it('name every problem code, and no other', () => {
    const page = '| code | meaning |\n|---|---|\n| `not_found` | `other` |\n| `gone` | no |\n'
    expect(
      violations(checkReference, {
        'packages/contract/src/problem-codes.ts': problems,
        'docs/reference/errors.md': page,
      }),
    ).toEqual([
      'packages/contract/src/problem-codes.ts:3 too_big is undocumented -> a row in docs/reference/errors.md',
      'docs/reference/errors.md:4 gone is not in the code -> deleting the row',
    ])
  })

  it('name every setting, and no other', () => {
    const page = '| `LCM_PORT` | 80 |\n| `LCM_OLD` | gone |\n| `--port` | a flag |\n'
    const files = { 'apps/a/src/config.ts': config, 'apps/a/src/main.ts': 'run(process.env.LCM_LOG)' }
    expect(violations(checkReference, { ...files, 'docs/reference/config.md': page })).toEqual([
      'apps/a/src/main.ts:1 LCM_LOG is undocumented -> a row in docs/reference/config.md',
      'apps/a/src/config.ts:1 HOST is undocumented -> a row in docs/reference/config.md',
      'docs/reference/config.md:2 LCM_OLD is not in the code -> deleting the row',
    ])
  })
})

describe('the repository', () => {
  const home = (...parts: string[]) => `/${parts.join('/')}/x`

  it('holds known kinds of files, once each, and none too large', () => {
    const fine = { 'a.ts': '', 'b.ts': '', LICENSE: 'a', '.ci/run': 'b', 'docs/a.svg': 'x'.repeat(300_000) }
    expect(violations(checkRepository, fine)).toEqual([])
    const wrong = { 'a.yml.bak': 'a', 'notes.txt': 'b', 'b.json': 'c', 'c.json': 'c', 'd.json': 'x'.repeat(200_001) }
    expect(violations(checkRepository, wrong)).toEqual([
      expect.stringMatching(/^a\.yml\.bak:1 kind of file/),
      expect.stringMatching(/^notes\.txt:1 kind of file/),
      expect.stringMatching(/^d\.json:1 file of 201 kB/),
      expect.stringMatching(/^c\.json:1 copy of b\.json/),
    ])
  })

  it('names no path of one machine', () => {
    const text = ['ok', `cat ${home('work', 'a')}`, `"${home('root')}"`, home('home', 'ann')].join('\n')
    expect(violations(checkRepository, { 'a.yml': text }).map(line => line.split(' ')[0])).toEqual([
      'a.yml:2',
      'a.yml:3',
      'a.yml:4',
    ])
    expect(
      violations(checkRepository, { 'a.ts': `'/api/v1${home('work')}'; './root/a'; '/home'; 'docs${home('work')}'` }),
    ).toEqual([])
  })

  it('installs from no named host', () => {
    const text = '"resolved": "packages/a",\n"resolved": "https://registry.example/a.tgz",\n'
    expect(violations(checkRepository, { 'package-lock.json': text })).toEqual([
      expect.stringMatching(/^package-lock\.json:2 /),
    ])
  })
})
