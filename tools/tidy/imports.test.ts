import { describe, expect, it } from 'vitest'
import { checkDependencies } from './dependencies.ts'
import { checkImports } from './imports.ts'
import { treeOf } from './repository-tree.ts'
import { printed } from './rules.ts'

const TABLE = `# Architecture

## Who may import whom
| package | may import | never |
|---|---|---|
| **domain** | zod | anything else; \`async\` |
| **runtime** | node built-ins | anything else |
| cloud | domain | anything installed |
| cloud-aws, cloud-sim | cloud, domain (cloud-sim also the SQLite driver) | each other |
| store | its drivers | domain |
| controllers/worker | domain, runtime, cloud, controllers/kit | **store**, **cloud/cml-labs** |
| controllers/lablet | domain, runtime, cloud | **store**, **cloud/cml-system** |
| controllers/kit | domain | store |
| console | domain | runtime, store, cloud\\* |
| lcm, lcm/cli | domain (lcm/serve by dynamic import) | runtime, store, cloud\\* |
| lcm/serve | anything but lcm/cli and console | be imported by anything but lcm, lcm/cli |
| testkit | domain, runtime | be imported by anything but tests |

## Follow one write
`
const PACKAGES = ['domain', 'runtime', 'cloud', 'cloud-aws', 'cloud-sim', 'store', 'testkit', 'controllers'].map(
  name => `packages/${name}`,
)
const MANIFEST = JSON.stringify({ exports: { './*': './src/*.ts' } })
const manifests = [...PACKAGES, 'apps/lcm', 'apps/console'].map(folder => [`${folder}/package.json`, MANIFEST] as const)
const PORTS = ['cml-labs', 'cml-system'].map(name => [`packages/cloud/src/${name}.ts`, ''] as const)

/** Violations of one file in an otherwise clean repository. */
function violationsOf(path: string, text: string): string[] {
  return checkImports(treeOf([['ARCHITECTURE.md', TABLE], ...manifests, ...PORTS, [path, text]])).map(printed)
}

describe('the import table', () => {
  it.each([
    ['packages/domain/src/worker.ts', "import { z } from 'zod'"],
    ['packages/runtime/src/reconciliation/loop.ts', "import { once } from 'node:events'"],
    ['packages/store/src/sqlite.ts', "import { systemClock } from '@lcm/runtime/clock'"],
    ['packages/store/src/sqlite.ts', "import { DatabaseSync } from '@photostructure/sqlite'"],
    [
      'packages/domain/src/worker.test.ts',
      "import { aWorker } from '@lcm/testkit/workers'\nimport fc from 'fast-check'",
    ],
    [
      'packages/cloud/src/conformance/compute.ts',
      "import { it } from 'vitest'\nimport { sim } from '@lcm/cloud-sim/sim-model'",
    ],
    ['packages/controllers/src/worker/observe.ts', "import type { CmlSystem } from '@lcm/cloud/cml-system'"],
    ['apps/lcm/src/main.ts', "const { up } = await import('@lcm/lcm/serve/up')"],
    ['apps/lcm/src/cli/command-dependencies.ts', "type Up = typeof import('@lcm/lcm/serve/up').up"],
    ['packages/controllers/src/worker/observe.ts', "import { heartbeat } from '../kit/heartbeat.ts'"],
    ['apps/lcm/src/cli/testing/a-shell.ts', "import { manualClock } from '@lcm/testkit/clock'"],
    [
      'apps/lcm/src/serve/up.ts',
      "import { sim } from '@lcm/cloud-sim/sim-model'\nimport { x } from '@lcm/controllers/worker/factory'",
    ],
    ['tools/tidy.test.ts', "import { aWorker } from '@lcm/testkit/workers'\nimport { x } from './tidy/rules.ts'"],
  ])('lets %s write %s', (path, text) => {
    expect(violationsOf(path, text)).toEqual([])
  })

  it.each([
    ['packages/domain/src/worker.ts', "import { systemClock } from '@lcm/runtime/clock'"],
    ['packages/domain/src/worker.ts', "import fs from 'node:fs'"],
    ['packages/domain/src/worker.ts', "import yaml from 'yaml'"],
    ['packages/runtime/src/reconciliation/loop.ts', "import { z } from 'zod'"],
    ['packages/runtime/src/reconciliation/loop.ts', "import type { Worker } from '@lcm/domain/worker'"],
    ['packages/store/src/sqlite.ts', "export { loop } from '@lcm/runtime'"],
    ['packages/cloud-aws/src/compute.ts', "import { sim } from '@lcm/cloud-sim/sim-model'"],
    ['packages/cloud/src/compute.ts', "import { aWorker } from '@lcm/testkit/workers'"],
    ['packages/controllers/src/worker/observe.ts', "import { awsCompute } from '@lcm/cloud-aws/compute'"],
    ['packages/controllers/src/worker/observe.ts', "import type { CmlLabs } from '@lcm/cloud/cml-labs'"],
    ['packages/controllers/src/lablet/observe.ts', "import type { CmlSystem } from '@lcm/cloud/cml-system'"],
    ['packages/controllers/src/lablet/observe.ts', "import { store } from '@lcm/store/sqlite'"],
    ['apps/lcm/src/main.ts', "import { up } from '@lcm/lcm/serve/up'"],
    ['apps/console/src/page.tsx', "const host = await import('@lcm/lcm/serve/up')"],
    ['apps/lcm/src/serve/up.ts', "import { aWorker } from '@lcm/testkit/workers'"],
    ['apps/lcm/src/serve/up.ts', "import { program } from '../cli/program.ts'"],
    ['apps/lcm/src/cli/command-dependencies.ts', "import { up } from '../serve/up.ts'"],
    ['packages/controllers/src/lablet/observe.ts', "import { probe } from '../worker/cml-probes.ts'"],
    ['apps/lcm/src/serve/up.ts', "import { aHost } from './testing/a-host.ts'"],
    ['packages/cloud/src/compute.ts', "import { Worker } from '../../domain/src/worker.ts'"],
    ['packages/cloud/src/compute.ts', "import { readTree } from '../../../tools/tidy/repository-tree.ts'"],
  ])('stops %s from writing %s', (path, text) => {
    expect(violationsOf(path, text)).toHaveLength(1)
  })

  it('reports the place, the import and the advice', () => {
    expect(violationsOf('packages/cloud/src/compute.ts', "\nimport { s } from '@lcm/store/sqlite'")).toEqual([
      'packages/cloud/src/compute.ts:2 import of @lcm/store/sqlite -> what the table in ARCHITECTURE.md allows cloud',
    ])
  })

  it('requires a row for every package', () => {
    const billing = ['packages/billing/package.json', '{}'] as const
    const tree = treeOf([['ARCHITECTURE.md', TABLE], ...manifests, ...PORTS, billing])
    expect(checkImports(tree).map(printed)).toEqual([expect.stringContaining('for billing')])
    expect(checkImports(treeOf([billing]))).toHaveLength(1)
  })

  it.each([
    ['| store | its drivers | what hurts |', 'no rule understands "what hurts"'],
    ['| store | domain | domain |', 'may import domain and never does'],
    ['| store | its drivers | **cloud/cml-lab** |', 'no package exports "cloud/cml-lab"'],
  ])('refuses a row without effect: %s', (row, problem) => {
    const page = TABLE.replace('| store | its drivers | domain |', row)
    const tree = treeOf([['ARCHITECTURE.md', page], ...manifests, ...PORTS])
    expect(checkImports(tree).map(printed)).toEqual([expect.stringContaining(problem)])
  })

  it('requires import paths to be paths of files', () => {
    const manifest = JSON.stringify({ exports: { './*': './src/*.ts', './a': './src/b.ts', './c': { import: './c' } } })
    const tree = treeOf([
      ['ARCHITECTURE.md', TABLE],
      ...manifests,
      ...PORTS,
      ['packages/domain/package.json', manifest],
    ])
    expect(checkImports(tree).map(printed)).toEqual([
      expect.stringContaining('exports ./a'),
      expect.stringContaining('exports ./c'),
    ])
  })
})

describe('declared dependencies', () => {
  const manifest = JSON.stringify({ dependencies: { zod: '1', '@lcm/domain': '1' } }, null, 2)
  const root = ['package.json', JSON.stringify({ devDependencies: { vitest: '1' } })] as const
  const violationsOfStore = (...files: [string, string][]) =>
    checkDependencies(treeOf([root, ['packages/store/package.json', manifest], ...files])).map(printed)

  it('equal the imports of the sources', () => {
    const used = "import { z } from 'zod/v4'\nimport type { W } from '@lcm/domain/worker'"
    const test = "import { it } from 'vitest'\nimport { clock } from '@lcm/testkit/clock'"
    expect(violationsOfStore(['packages/store/src/a.ts', used], ['packages/store/src/a.test.ts', test])).toEqual([])
  })

  it('are reported when they miss an import, even by require', () => {
    const used = "import { z } from 'zod'\nimport '@lcm/domain/worker'\nconst pino = require('pino')"
    expect(violationsOfStore(['packages/store/src/a.ts', used])).toEqual([
      'packages/store/src/a.ts:3 undeclared dependency pino -> "dependencies" of packages/store/package.json',
    ])
  })

  it('are reported when they are unused, or used by tests only', () => {
    expect(violationsOfStore(['packages/store/src/a.test.ts', "import { z } from 'zod'"])).toEqual([
      expect.stringMatching(/^packages\/store\/package\.json:3 store never imports zod/),
      expect.stringMatching(/^packages\/store\/package\.json:4 store never imports @lcm\/domain/),
    ])
  })

  it('must not be aliases', () => {
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
