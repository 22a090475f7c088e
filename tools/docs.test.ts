import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { IAM_ACTIONS } from '@lcm/cloud-aws/iam-actions'
import { RegionConfig } from '@lcm/domain/template/worker-template'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { commandLinesOf, fault, grammarOf } from './docs/command-lines.ts'
import { deadLinks, variablesIn } from './docs/links-and-variables.ts'
import { blocksOf, filesOf, pagesOf } from './docs/markdown-pages.ts'
import { missingFiles } from './docs/missing-files.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const pages = pagesOf(root)
const text = (path: string): string => readFileSync(`${root}${path}`, 'utf8')
const forReaders = pages.filter(({ path }) => path === 'README.md' || path.startsWith('docs/'))

describe('links', () => {
  it('lead to existing files and headings', () => {
    expect(deadLinks(pages, root)).toEqual([])
  })

  it('are reported when they are broken', () => {
    const page = (body: string) => ({ path: 'docs/a.md', text: body })
    const dead = (body: string) => deadLinks([page(`# One two\n\n${body}\n`)], root)
    expect(dead('[a](#one-two) ![b](images/overview.png "c") [d](https://x.example) [`e`](adr)')).toEqual([])
    expect(dead('[a](#one) [b](nowhere.md) ![c](images/none.png)')).toEqual([
      'docs/a.md:3 #one',
      'docs/a.md:3 nowhere.md',
      'docs/a.md:3 images/none.png',
    ])
    expect(dead('`[a](nowhere.md)`\n\n```md\n[a](nowhere.md)\n```')).toEqual([])
  })
})

describe('files', () => {
  const paths = filesOf(root)
  const NAMES_FILES = /^(ARCHITECTURE|CONTRIBUTING)\.md$|^(packages|apps)\/[^/]+\/README\.md$|^simulation\/README\.md$/

  it('that ARCHITECTURE, CONTRIBUTING and the READMEs of packages name exist', () => {
    const named = pages.filter(({ path }) => NAMES_FILES.test(path))
    expect(named.length).toBeGreaterThan(15)
    expect(named.flatMap(page => missingFiles(page, paths))).toEqual([])
  })

  it('are reported when they are missing', () => {
    const missing = (path: string, body: string) => missingFiles({ path, text: body }, paths)
    expect(missing('ARCHITECTURE.md', '`http/dispatch.ts` and `http/nothing.ts`, in `store/src/sqlite/`')).toEqual([
      'ARCHITECTURE.md:1 http/nothing.ts',
    ])
    expect(missing('packages/store/README.md', '`store.ts`\n`http/dispatch.ts`, `sqlite/`, `none/`')).toEqual([
      'packages/store/README.md:2 http/dispatch.ts',
      'packages/store/README.md:2 none/',
    ])
  })
})

describe('commands', () => {
  const grammar = grammarOf(text('docs/reference/cli.md'))
  const faults = (page: { path: string; text: string }): string[] =>
    commandLinesOf(page).flatMap(line => {
      const problem = fault(grammar, line)
      return problem === null ? [] : [`${line.place} \`lcm ${line.text}\`: ${problem}`]
    })

  it('on the pages exist, with their options', () => {
    expect(forReaders.flatMap(commandLinesOf).length).toBeGreaterThan(200)
    expect(forReaders.flatMap(faults)).toEqual([])
  })

  const inBlock = (line: string) => faults({ path: 'a.md', text: `\`\`\`sh\n${line}\n\`\`\`\n` })

  it.each([
    'npx lcm get workers --watch   # and so on',
    'lcm --data .lcm get worker metal-1 -o json | jq .',
    'LCM_URL=http://x lcm why worker metal-3 --limit 20',
    'lcm create worker \\\n  -t metal --wait',
    'lcm chaos fault lost_answer_rate=0.5 server_error_rate=1',
    'lcm --version',
    'lcm serve $service --port 8090 &',
    'echo lcm nothing',
  ])('accept %j', line => {
    expect(inBlock(line)).toEqual([])
  })

  it.each([
    ['lcm fly', 'no command fly'],
    ['lcm get planes', 'lcm get has no planes'],
    ['lcm get', 'lcm get needs another word'],
    ['lcm get workers --wach', 'lcm get workers has no --wach'],
    ['lcm why worker', 'lcm why worker needs 1 words'],
    ['lcm create worker --name x', 'lcm create worker needs --template'],
    ['lcm up --cloud gcp', "--cloud can't be gcp"],
    ['lcm stop worker a b', 'lcm stop worker takes 1 words, not 2'],
  ])('refuse %j', (line, problem) => {
    expect(inBlock(line)).toEqual([`a.md:2 \`${line}\`: ${problem}`])
  })

  it('in a sentence may omit required arguments', () => {
    expect(faults({ path: 'a.md', text: 'Use `lcm drain worker` or `lcm fly`.' })).toEqual([
      'a.md:1 `lcm fly`: no command fly',
    ])
  })
})

describe('variables', () => {
  /** Read by the AWS SDK, Compose or Node.js itself, or by our own tests. */
  const OTHERS = [
    'AWS_ACCESS_KEY_ID',
    'AWS_SECRET_ACCESS_KEY',
    'MONGODB_URI',
    'COMPOSE_PROFILES',
    'NODE_EXTRA_CA_CERTS',
  ]
  /** Words of CML, of the store's documents and of the original design. */
  const NO_VARIABLES = ['IN_COMPLIANCE', 'NOT_REGISTERED', 'PENDING_SYNC', 'PENDING_SCHEDULING', 'SCALE_UP']
  const reference = [...text('docs/reference/config.md').matchAll(/`([A-Z][A-Z0-9_]+)`/g)]
  /** Variables that the user of the compose file sets. */
  const compose = [...text('deploy/compose.yaml').matchAll(/(?:\$\{|environment: )([A-Z][A-Z0-9_]+)/g)]
  const build = [...text('Dockerfile').matchAll(/^ARG ([A-Z_]+)=/gm)]
  const documented = new Set([...reference, ...compose, ...build].map(([, name]) => name))
  const isKnown = (name: string): boolean =>
    documented.has(name) || OTHERS.includes(name) || NO_VARIABLES.includes(name)

  it('on the pages are in the reference', () => {
    const named = forReaders.flatMap(page =>
      variablesIn(
        page,
        blocksOf(page.text).filter(({ language }) => language === 'sh'),
      ),
    )
    expect(named.length).toBeGreaterThan(100)
    expect(named.flatMap(([name, place]) => (isKnown(name) ? [] : [place]))).toEqual([])
  })

  it('are found in code', () => {
    const page = { path: 'a.md', text: 'Set `LCM_NEW=1`, but not LCM_OLD.\n' }
    expect(variablesIn(page, [{ text: 'export A_B=$C_D', line: 7 }])).toEqual([
      ['A_B', 'a.md:7 A_B'],
      ['LCM_NEW', 'a.md:1 LCM_NEW'],
    ])
  })
})

describe('run-on-aws', () => {
  const blocks = blocksOf(text('docs/how-to/run-on-aws.md'))
  const List = z.union([z.string().transform(one => [one]), z.array(z.string())])
  const Policy = z.object({ Statement: z.array(z.object({ Effect: z.literal('Allow'), Action: List })) })

  it('grants exactly the actions that LCM uses', () => {
    const policies = blocks
      .filter(({ language }) => language === 'json')
      .map(block => Policy.parse(JSON.parse(block.text)))
    expect(policies).toHaveLength(1)
    const granted = new Set(policies.flatMap(({ Statement }) => Statement.flatMap(({ Action }) => Action)))
    expect([...granted].sort()).toEqual(IAM_ACTIONS.map(({ action }) => action).sort())
  })

  it('shows a valid regions file', () => {
    const File = z.strictObject({ aws_region_configs: z.record(z.string(), RegionConfig) })
    const files = blocks.filter(block => block.language === 'yaml' && block.text.startsWith('aws_region_configs'))
    expect(files.map(({ text: file }) => Object.keys(File.parse(parse(file)).aws_region_configs))).toEqual([
      ['us-east-1', 'eu-west-1'],
    ])
  })
})
