import { describe, expect, it } from 'vitest'
import { checkDependencies } from './dependencies.ts'
import { checkImports } from './imports.ts'
import { printed } from './rules.ts'
import { treeOf } from './tree.ts'

const TABLE = `# Architecture

## Who may import whom
| package | may import | never |
|---|---|---|
| **domain** | zod | anything else; \`async\` |
| **runtime** | node built-ins | anything else |
| cloud | domain | anything installed |
| cloud-aws, cloud-sim | cloud, domain (cloud-sim also the SQLite driver) | each other |
| store | its drivers | domain |
| **controllers** | domain, runtime, cloud | **store**, another app |
| worker-controller | nothing more | **cloud/cml-labs** |
| lablet-controller | nothing more | **cloud/cml-system** |
| cli, console | domain (cli: host by dynamic import) | runtime, store, cloud\\* |
| host | anything but cli and console | be imported by anything but cli |
| testkit | domain, runtime | be imported by anything but tests |

## Follow one write
`
const PACKAGES = ['domain', 'runtime', 'cloud', 'cloud-aws', 'cloud-sim', 'store', 'testkit'].map(
  name => `packages/${name}`,
)
const APPS = ['worker-controller', 'lablet-controller', 'cli', 'console', 'host'].map(name => `apps/${name}`)
const EXPORTS = {
  './cml-labs': './src/cml-labs.ts',
  './cml-system': './src/cml-system.ts',
  './errors': './src/errors.ts',
}
const manifests = [...PACKAGES, ...APPS].map(
  folder =>
    [`${folder}/package.json`, folder === 'packages/cloud' ? JSON.stringify({ exports: EXPORTS }) : '{}'] as const,
)

/** What the rule says of one file in a repository that is otherwise clean. */
function saidOf(path: string, text: string): string[] {
  return checkImports(treeOf([['ARCHITECTURE.md', TABLE], ...manifests, [path, text]])).map(printed)
}

describe('who may import whom', () => {
  it.each([
    ['packages/domain/src/worker.ts', "import { z } from 'zod'"],
    ['packages/runtime/src/loop.ts', "import { once } from 'node:events'"],
    ['packages/store/src/sqlite.ts', "import { systemClock } from '@lcm/runtime/clock'"],
    ['packages/store/src/sqlite.ts', "import { DatabaseSync } from '@photostructure/sqlite'"],
    [
      'packages/domain/src/worker.test.ts',
      "import { aWorker } from '@lcm/testkit/workers'\nimport fc from 'fast-check'",
    ],
    [
      'packages/cloud/src/conformance/compute.ts',
      "import { it } from 'vitest'\nimport { sim } from '@lcm/cloud-sim/model'",
    ],
    ['apps/worker-controller/src/observe.ts', "import type { CmlSystem } from '@lcm/cloud/cml-system'"],
    ['apps/cli/src/main.ts', "const { up } = await import('@lcm/host/up')"],
    ['apps/cli/src/shell.ts', "type Up = typeof import('@lcm/host/up').up"],
    ['apps/cli/src/testing/a-shell.ts', "import { manualClock } from '@lcm/testkit/clock'"],
    [
      'apps/host/src/up.ts',
      "import { sim } from '@lcm/cloud-sim/model'\nimport { x } from '@lcm/worker-controller/factory'",
    ],
    ['tools/tidy.test.ts', "import { aWorker } from '@lcm/testkit/workers'\nimport { x } from './tidy/rules.ts'"],
  ])('lets %s write %s', (path, text) => {
    expect(saidOf(path, text)).toEqual([])
  })

  it.each([
    ['packages/domain/src/worker.ts', "import { systemClock } from '@lcm/runtime/clock'"],
    ['packages/domain/src/worker.ts', "import fs from 'node:fs'"],
    ['packages/domain/src/worker.ts', "import yaml from 'yaml'"],
    ['packages/runtime/src/loop.ts', "import { z } from 'zod'"],
    ['packages/runtime/src/loop.ts', "import type { Worker } from '@lcm/domain/worker'"],
    ['packages/store/src/sqlite.ts', "export { loop } from '@lcm/runtime'"],
    ['packages/cloud-aws/src/compute.ts', "import { sim } from '@lcm/cloud-sim/model'"],
    ['packages/cloud/src/compute.ts', "import { aWorker } from '@lcm/testkit/workers'"],
    ['apps/worker-controller/src/observe.ts', "import { awsCompute } from '@lcm/cloud-aws/compute'"],
    ['apps/worker-controller/src/observe.ts', "import type { CmlLabs } from '@lcm/cloud/cml-labs'"],
    ['apps/lablet-controller/src/observe.ts', "import type { CmlSystem } from '@lcm/cloud/cml-system'"],
    ['apps/lablet-controller/src/observe.ts', "import { store } from '@lcm/store/sqlite'"],
    ['apps/cli/src/main.ts', "import { up } from '@lcm/host/up'"],
    ['apps/console/src/page.tsx', "const host = await import('@lcm/host/up')"],
    ['apps/host/src/up.ts', "import { aWorker } from '@lcm/testkit/workers'"],
    ['apps/host/src/up.ts', "import { program } from '@lcm/cli/program'"],
    ['apps/host/src/up.ts', "import { aHost } from './testing/a-host.ts'"],
    ['packages/cloud/src/compute.ts', "import { Worker } from '../../domain/src/worker.ts'"],
    ['packages/cloud/src/compute.ts', "import { readTree } from '../../../tools/tidy/tree.ts'"],
  ])('stops %s from writing %s', (path, text) => {
    expect(saidOf(path, text)).toHaveLength(1)
  })

  it('says where, what, and what to do', () => {
    expect(saidOf('packages/cloud/src/compute.ts', "\nimport { s } from '@lcm/store/sqlite'")).toEqual([
      'packages/cloud/src/compute.ts:2 import of @lcm/store/sqlite -> what the table in ARCHITECTURE.md allows cloud',
    ])
  })

  it('wants a row for every package', () => {
    const billing = ['packages/billing/package.json', '{}'] as const
    const tree = treeOf([['ARCHITECTURE.md', TABLE], ...manifests, billing])
    expect(checkImports(tree).map(printed)).toEqual([expect.stringContaining('for billing')])
    expect(checkImports(treeOf([billing]))).toHaveLength(1)
  })

  it.each([
    ['| store | its drivers | what hurts |', 'no rule understands "what hurts"'],
    ['| store | domain | domain |', 'may import domain and never does'],
    ['| store | its drivers | **cloud/cml-lab** |', 'no package exports "cloud/cml-lab"'],
  ])('refuses a row that protects nothing: %s', (row, said) => {
    const page = TABLE.replace('| store | its drivers | domain |', row)
    const tree = treeOf([['ARCHITECTURE.md', page], ...manifests])
    expect(checkImports(tree).map(printed)).toEqual([expect.stringContaining(said)])
  })

  it('wants every export by its own name', () => {
    const manifest = JSON.stringify({ exports: { './*': './src/*.ts', './a': { import: './src/a.ts' } } })
    const tree = treeOf([['ARCHITECTURE.md', TABLE], ...manifests, ['packages/domain/package.json', manifest]])
    expect(checkImports(tree).map(printed)).toEqual([
      expect.stringContaining('exports ./*'),
      expect.stringContaining('exports ./a'),
    ])
  })
})

describe('declared dependencies', () => {
  const manifest = JSON.stringify({ dependencies: { zod: '1', '@lcm/domain': '1' } }, null, 2)
  const root = ['package.json', JSON.stringify({ devDependencies: { vitest: '1' } })] as const
  const saidOfStore = (...files: [string, string][]) =>
    checkDependencies(treeOf([root, ['packages/store/package.json', manifest], ...files])).map(printed)

  it('are what the sources import', () => {
    const used = "import { z } from 'zod/v4'\nimport type { W } from '@lcm/domain/worker'"
    const test = "import { it } from 'vitest'\nimport { clock } from '@lcm/testkit/clock'"
    expect(saidOfStore(['packages/store/src/a.ts', used], ['packages/store/src/a.test.ts', test])).toEqual([])
  })

  it('miss what only a source imports, even by require', () => {
    const used = "import { z } from 'zod'\nimport '@lcm/domain/worker'\nconst pino = require('pino')"
    expect(saidOfStore(['packages/store/src/a.ts', used])).toEqual([
      'packages/store/src/a.ts:3 undeclared dependency pino -> "dependencies" of packages/store/package.json',
    ])
  })

  it('hold nothing that is unused, or used by tests only', () => {
    expect(saidOfStore(['packages/store/src/a.test.ts', "import { z } from 'zod'"])).toEqual([
      expect.stringMatching(/^packages\/store\/package\.json:3 store never imports zod/),
      expect.stringMatching(/^packages\/store\/package\.json:4 store never imports @lcm\/domain/),
    ])
  })

  it('are known by their own names', () => {
    const manifest = JSON.stringify({ dependencies: { zod: 'npm:@lcm/cloud@0.1.0' } })
    const files = [
      ['packages/store/package.json', manifest],
      ['packages/store/src/a.ts', "import 'zod'"],
    ] as const
    expect(checkDependencies(treeOf([root, ...files])).map(printed)).toEqual([
      'packages/store/package.json:1 zod is npm:@lcm/cloud@0.1.0 -> a version: 1.2.3',
    ])
  })
})
