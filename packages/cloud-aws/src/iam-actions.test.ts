import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { IAM_ACTIONS } from './iam-actions.ts'

const names = IAM_ACTIONS.map(({ action }) => action).sort()
const here = new URL('.', import.meta.url)
const page = new URL('../../../docs/how-to/run-on-aws.md', import.meta.url)

it('lists every AWS call that this package makes', () => {
  const files = readdirSync(here, { recursive: true, encoding: 'utf8' })
  const sources = files.filter(file => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  const calls = sources.flatMap(file => {
    const text = readFileSync(new URL(file, here), 'utf8')
    return [...text.matchAll(/^import \{([^}]*)\} from '@aws-sdk\/client-(\w+)'/gm)].flatMap(
      ([, imported = '', service = '']) =>
        [...imported.matchAll(/(?<!type )\b(\w+)Command\b/g)].map(([, call]) => `${service}:${call}`),
    )
  })
  // S3 is called without its SDK, and no call passes a role.
  expect([...new Set(calls)].sort()).toEqual(names.filter(name => !/^(iam|s3):/.test(name)))
})

it('matches the policy of docs/how-to/run-on-aws.md exactly', () => {
  const policy = JSON.parse(/```json\n([\s\S]*?)```/.exec(readFileSync(page, 'utf8'))?.[1] ?? '{}')
  const granted = policy.Statement.flatMap(({ Action }: { Action: string | string[] }) => Action)
  expect([...new Set(granted)].sort()).toEqual(names)
})
