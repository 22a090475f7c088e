import { expect, it } from 'vitest'
import { chaos } from './chaos/chaos.ts'
import { VIOLATIONS } from './chaos/fault-under-load.ts'

const LIMIT_MS = 300_000
const SOUND = Object.fromEntries(VIOLATIONS.map(kind => [kind, []]))
/** A sample: `npm run bench -- chaos` injects all faults, with more sessions each. */
const SAMPLE = ['cloud-cuts', 'disk-full']

it('loses, duplicates and leaks nothing while EC2 and CML are unreachable, or the disk of the store is full', {
  timeout: LIMIT_MS,
}, async () => {
  const { verdicts, leftOut } = await chaos({
    ...{ rounds: 1, sessions: 2, leaseTtlSeconds: 2, only: SAMPLE },
    print: () => undefined,
  })
  // A machine without namespaces can't have a small disk.
  expect(verdicts.map(({ name, wrong }) => ({ name, wrong }))).toEqual(
    SAMPLE.slice(0, SAMPLE.length - leftOut.length).map(name => ({ name, wrong: SOUND })),
  )
  expect(verdicts[0]?.writes).toBeGreaterThan(0)
})
