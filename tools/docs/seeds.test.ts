import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const text = (path: string): string => readFileSync(`${root}${path}`, 'utf8')

interface Row {
  /** The first cell. */
  readonly claim: string
  readonly tests: readonly NamedTest[]
}

interface NamedTest {
  readonly path: string
  /** A test of that file; null where all of it is meant. */
  readonly title: string | null
}

const SEPARATOR = /^\|[-|]+\|$/

/** The rows of all tables, without their heads. The last cell names tests: `path` "title", several with commas. */
function rowsOf(page: string): Row[] {
  const lines = page.split('\n')
  const isHead = (index: number): boolean =>
    SEPARATOR.test(lines[index] ?? '') || SEPARATOR.test(lines[index + 1] ?? '')
  return lines.flatMap((line, index) => {
    if (!line.startsWith('|') || isHead(index)) return []
    const cells = line.split(' | ')
    const last = cells.at(-1) ?? ''
    const tests = [...last.matchAll(/`([^`]+\.test\.ts)`(?: "([^"]+)")?/g)]
    return [
      {
        claim: (cells[0] ?? '').replace(/^\| /, ''),
        tests: tests.map(([, path = '', title = null]) => ({ path, title })),
      },
    ]
  })
}

function faultOf({ path, title }: NamedTest): string | null {
  if (!existsSync(`${root}${path}`)) return `there is no ${path}`
  return title === null || text(path).includes(title) ? null : `${path} has no test "${title}"`
}

function faultsIn(page: string): string[] {
  return rowsOf(page).flatMap(({ claim, tests }) => {
    const faults = tests.length === 0 ? ['it names no test'] : tests.flatMap(test => faultOf(test) ?? [])
    return faults.map(fault => `${claim}: ${fault}`)
  })
}

const PAGE = text('docs/reference/seeds.md')
const CONFIGURATION = '## Configuration'
const [, configuration = ''] = PAGE.split(`\n${CONFIGURATION}\n`)

describe('every row about the design documents', () => {
  it('names a test that exists', () => {
    expect(rowsOf(PAGE).length).toBeGreaterThan(150)
    expect(faultsIn(PAGE)).toEqual([])
  })

  it('is reported when it names no test, a missing file or a missing title', () => {
    const own = '`tools/docs/seeds.test.ts`'
    const page = `| design | here | test |\n|---|---|---|\n| a | b | c |\n| d | e | ${own} |\n| f | g | \`none.test.ts\` |`
    expect(faultsIn(page)).toEqual(['a: it names no test', 'f: there is no none.test.ts'])
    expect(faultsIn('| a | b | `tools/docs.test.ts` "lead to existing files and headings" |')).toEqual([])
    const missing = ['no such', 'title'].join(' ')
    expect(faultsIn(`| a | b | ${own} "${missing}" |`)).toEqual([
      `a: tools/docs/seeds.test.ts has no test "${missing}"`,
    ])
  })
})

describe('the table of configuration examples', () => {
  const VARIABLE = /`([A-Z][A-Z0-9]*_[A-Z0-9_]+)`/g
  const rows = rowsOf(configuration)
  const variables = rows.flatMap(row => [...row.claim.matchAll(VARIABLE)].map(([, name = '']) => ({ ...row, name })))

  it('has variables of the reference, each mentioned by its test', () => {
    const reference = text('docs/reference/config.md')
    expect(variables.length).toBeGreaterThan(18)
    for (const { name, tests } of variables) {
      expect(reference).toContain(`\n| \`${name}\` |`)
      expect(tests.map(({ path }) => text(path)).join('\n')).toContain(name)
    }
  })

  it('has every variable that the tests read from the documents', () => {
    const tried = [
      ...text('apps/lcm/src/serve/environment/documented-variables.test.ts').matchAll(/^ {4}name: '([A-Z_]+)',$/gm),
    ]
    expect(tried.length).toBeGreaterThan(18)
    expect(variables.map(({ name }) => name).toSorted()).toEqual(tried.map(([, name = '']) => name).toSorted())
  })

  it('has names that their tests mention', () => {
    for (const { claim, tests } of rows)
      for (const [, name = ''] of claim.matchAll(/`([^`]+)`/g))
        expect(tests.map(({ path }) => text(path)).join('\n')).toContain(name)
  })
})
