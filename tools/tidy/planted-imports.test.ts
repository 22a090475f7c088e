import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { checkBans } from './banned-code.ts'
import { BANNED_WORDS, listed, namesOf, neverWordsOf, packagesOf, readImportTable, rowsOf } from './import-table.ts'
import { importCheckOf } from './imports.ts'
import { parseSource, type Source } from './parse-source.ts'
import { fileAt, readTree } from './repository-tree.ts'

const tree = readTree(fileURLToPath(new URL('../..', import.meta.url)))
const page = fileAt(tree, 'ARCHITECTURE.md')?.text ?? ''
const rows = rowsOf(page)
const workspaces = tree.workspaces.map(({ name }) => name)
const table = readImportTable(page, workspaces)
/** A workspace whose folders all have rows has none of its own. */
const names = { packages: namesOf(page, workspaces).packages.filter(name => table.has(name)) }

interface Plant {
  readonly path: string
  readonly text: string
}

const check = importCheckOf(tree, table)

/** Whether the rules that see imports find one file more in the repository as it is. */
function isFound({ path, text }: Plant, checkThere = check): boolean {
  const planted = parseSource(path, text)
  return checkThere(planted).length > 0 || checkBans({ ...tree, sources: [planted] }).length > 0
}

const folderOf = (name: string) => {
  const [first = '', ...folders] = name.split('/')
  const workspace = tree.workspaces.find(known => known.name === first)
  return [workspace?.folder ?? first, 'src', ...folders].join('/')
}
const plantIn = (name: string, text: string): Plant => ({ path: `${folderOf(name)}/planted-here.ts`, text })
const importing = (subject: string, name: string) => plantIn(subject, `import '@lcm/${name}/planted'`)

const BANNED_PLANTS: Readonly<Record<string, string>> = {
  async: 'export const f = async () => 1',
  Promise: 'export type A = Promise<1>',
  Date: 'export const at = (a: Date) => a',
  'Math.random': 'export const n = Math.random()',
  'node:*': "import 'node:fs'",
}

/** Files that do what one word of the last column forbids. A word without any is one that nothing tests. */
function plantsOf(word: string, subject: string, row: readonly string[]): readonly Plant[] {
  const others = names.packages.filter(name => name !== subject)
  if (BANNED_WORDS.has(word)) return [plantIn(subject, BANNED_PLANTS[word] ?? '')]
  if (word === 'anything installed') return [plantIn(subject, "import '@aws-sdk/client-ec2'")]
  if (word === 'anything else') {
    const ours = others.filter(name => !table.get(subject)?.may.has(name))
    const odd = ["import 'yaml'", ...(table.get(subject)?.mayBuiltIns ? [] : ["import 'node:fs'"])]
    return [...odd.map(text => plantIn(subject, text)), ...ours.map(name => importing(subject, name))]
  }
  if (word === 'be imported') return others.map(name => plantIn(name, `import '../../../${subject}/planted.ts'`))
  const only = /^be imported by anything but (.+)$/.exec(word)?.[1]?.split(', ')
  if (only) return others.filter(name => !only.includes(name)).map(name => importing(name, subject))
  if (word.includes('/')) return [plantIn(subject, `import type { Planted } from '@lcm/${word}'`)]
  return packagesOf(word, { subject, row }, names).map(name => importing(subject, name))
}

describe('an import that the table forbids', () => {
  for (const [cell, , never] of rows) {
    const row = listed(cell)
    for (const subject of row)
      for (const word of neverWordsOf(never)) {
        it(`is found: ${subject}, never ${word}`, () => {
          const plants = plantsOf(word, subject, row)
          expect(plants).not.toEqual([])
          expect(plants.filter(plant => !isFound(plant))).toEqual([])
        })
      }
  }

  it('is found wherever a row does not allow it', () => {
    const notAllowed = names.packages.flatMap(subject =>
      names.packages
        .filter(name => name !== subject && !table.get(subject)?.may.has(name))
        .map(name => importing(subject, name)),
    )
    expect(notAllowed.length).toBeGreaterThan(100)
    expect(notAllowed.filter(plant => !isFound(plant))).toEqual([])
  })

  it('has a row with a restriction for every package', () => {
    const spoken = new Set(
      rows.filter(([, , never]) => neverWordsOf(never).length > 0).flatMap(([cell]) => listed(cell)),
    )
    expect(names.packages.filter(name => !spoken.has(name))).toEqual([])
  })
})

const PORTS: readonly (readonly [app: string, module: string])[] = [
  ['controllers/worker', 'cml-labs'],
  ['controllers/lablet', 'compute'],
  ['controllers/lablet', 'machine-metrics'],
  ['controllers/lablet', 'cml-system'],
  ['controllers/lablet', 'compute-wrappers/batched-compute'],
  ['controllers/lablet', 'compute-wrappers/batched-compute'],
  ['controllers/lablet', 'compute-wrappers/rate-limited-compute'],
  ['controllers/lablet', 'compute-wrappers/account-circuit-breaker'],
  ['controllers/scheduler', 'errors'],
]

describe('a forbidden port', () => {
  const ways = (module: string): readonly string[] => [
    `import { x } from '@lcm/cloud/${module}'`,
    `import type { X } from '@lcm/cloud/${module}'`,
    `import { type X } from '@lcm/cloud/${module}'`,
    `import * as port from "@lcm/cloud/${module}"`,
    `import '@lcm/cloud/${module}'`,
    `export { x } from '@lcm/cloud/${module}'`,
    `export type { X } from '@lcm/cloud/${module}'`,
    `export * from '@lcm/cloud/${module}'`,
    `type X = import('@lcm/cloud/${module}').X`,
    `type X = typeof import('@lcm/cloud/${module}')`,
    `const x = await import('@lcm/cloud/${module}')`,
    `const x = await import(\`@lcm/cloud/${module}\`)`,
    `const x = await import('@lcm/' + 'cloud/${module}')`,
    `const x = await import(\`@lcm/\${'cloud'}/${module}\`)`,
    `const name = 'compute'\nconst x = await import(name)`,
    `const x = require('@lcm/cloud/${module}')`,
    `const x = require(\`@lcm/cloud/${module}\`)`,
    `import { createRequire } from 'node:module'\nconst load = createRequire(import.meta.url)\nload('@lcm/cloud/${module}')`,
    `import x = require('@lcm/cloud/${module}')`,
    `import type x = require('@lcm/cloud/${module}')`,
    `declare module '@lcm/cloud/${module}' {}`,
    `const x = import.meta.resolve('@lcm/cloud/${module}')`,
    `import { x } from '../../../cloud/src/${module}.ts'`,
    `import type { X } from '../../../cloud/src/${module}.ts'`,
    `import { x } from '../../../node_modules/@lcm/cloud/src/${module}.ts'`,
    `import { x } from 'yaml/../@lcm/cloud/${module}'`,
    `import { x } from '/packages/cloud/src/${module}.ts'`,
    `import { x } from 'file:///packages/cloud/src/${module}.ts'`,
    `const x = new Worker(new URL('../../../cloud/src/${module}.ts', import.meta.url))`,
    `/// <reference path="../../../cloud/src/${module}.ts" />`,
    `export { x } from '@lcm/cloud-aws/${module}'`,
    `import type { X } from '@lcm/cloud-sim/${module}'`,
  ]

  it.each(PORTS)('is refused for %s: %s, by every way to load a module', (app, module) => {
    expect(ways(module).filter(text => !isFound(plantIn(app, text)))).toEqual([])
  })

  it.each(PORTS)('is refused for %s: %s, also in tests and in every kind of code', (app, module) => {
    const text = `import type { X } from '@lcm/cloud/${module}'`
    const paths = ['a.test.ts', 'testing/a.ts', 'generated/a.ts']
    const kinds = ['ts', 'tsx', 'mts', 'cts'].map(ending => `a.${ending}`)
    const plants = [...paths, ...kinds].map(path => ({ path: `${folderOf(app)}/${path}`, text }))
    expect(plants.filter(plant => !isFound(plant))).toEqual([])
    const script = { path: `${folderOf(app)}/a.js`, text: `import '@lcm/cloud/${module}'` }
    expect(isFound(script)).toBe(true)
  })

  it('is found through another module of an allowed package', () => {
    const through = (path: string, text: string) => {
      const grown = (source: Source) => (source.path === path ? parseSource(path, `${source.text}\n${text}`) : source)
      return importCheckOf({ ...tree, sources: tree.sources.map(grown) }, table)
    }
    const innocent = plantIn('controllers/lablet', "import { CloudError } from '@lcm/cloud/errors'")
    expect(isFound(innocent)).toBe(false)
    const errors = 'packages/cloud/src/errors.ts'
    expect(isFound(innocent, through(errors, "export type { Compute } from './compute.ts'"))).toBe(true)
    expect(isFound(innocent, through(errors, "import './compute-wrappers/batched-compute.ts'"))).toBe(true)
    const client = plantIn('controllers/lablet', "import { createClient } from '@lcm/client/client'")
    expect(isFound(client)).toBe(false)
    const inDomain = "export type { CmlSystem } from '@lcm/cloud/cml-system'"
    expect(isFound(client, through('packages/domain/src/worker/worker.ts', inDomain))).toBe(true)
  })

  it('is allowed for its own app', () => {
    const fine = [
      plantIn(
        'controllers/worker',
        "import type { Compute } from '@lcm/cloud/compute'\nimport '@lcm/cloud/compute-wrappers/batched-compute'",
      ),
      plantIn(
        'controllers/worker',
        "import type { CmlSystem } from '@lcm/cloud/cml-system'\nimport '@lcm/cloud/machine-metrics'",
      ),
      plantIn(
        'controllers/lablet',
        "import type { CmlLabs } from '@lcm/cloud/cml-labs'\nimport '@lcm/cloud/cml-login-resolver'",
      ),
    ]
    expect(fine.filter(plant => isFound(plant))).toEqual([])
  })
})

it('product code imports no test code, under any name', () => {
  const forTests = [
    '@lcm/client/testing/a-sim-machine',
    '@lcm/coordination/conformance',
    '@lcm/coordination/testing/etcd-server',
  ]
  const plants = forTests.map(specifier => plantIn('controllers/kit', `import '${specifier}'`))
  expect(plants.filter(plant => !isFound(plant))).toEqual([])
})
