import { describe, expect, it } from 'vitest'
import { CloudError, type CloudErrorClass } from '../errors.ts'
import { type PowerOutcome, powerEach } from './power-each.ts'

const refusal = (errorClass: CloudErrorClass, message = 'no') =>
  new CloudError(errorClass, { code: 'Code', action: 'StopInstances', message })
const ids = (count: number) => Array.from({ length: count }, (_, n) => `i-${n.toString(16)}`)

/** A cloud that rejects every call with a bad machine. */
function cloudWith(bad: readonly string[], refuse: (hit: readonly string[]) => CloudError) {
  const calls: (readonly string[])[] = []
  return {
    calls,
    power: (instanceIds: readonly string[]): Promise<PowerOutcome> =>
      powerEach(instanceIds, async asked => {
        calls.push(asked)
        const hit = asked.filter(id => bad.includes(id))
        if (hit.length > 0) throw refuse(hit)
        return new Map(asked.map(id => [id, 'stopping']))
      }),
  }
}

const classesOf = (outcome: PowerOutcome) =>
  [...outcome].filter(([, each]) => each instanceof CloudError).map(([id]) => id)

describe('changing many machines', () => {
  it('takes one call for fifty, and one more for the next', async () => {
    const { calls, power } = cloudWith([], () => refusal('state'))
    expect((await power([...ids(60), ...ids(60)])).size).toBe(60)
    expect(calls.map(call => call.length)).toEqual([50, 10])
  })

  it('leaves out all machines that the error names, and retries once', async () => {
    const bad = ['i-1', 'i-3']
    const words = (hit: readonly string[]) => `The instance IDs '${hit.join(', ')}' do not exist`
    const { calls, power } = cloudWith(bad, hit => refusal('not_found', words(hit)))
    const outcome = await power(ids(32))
    expect(classesOf(outcome)).toEqual(bad)
    expect(outcome.get('i-1f')).toBe('stopping')
    expect(calls).toHaveLength(2)
  })

  it('changes those that a policy allows, where the error names the forbidden one', async () => {
    const words =
      'You are not authorized to perform: ec2:StopInstances on resource: arn:aws:ec2:us-east-1:1:instance/i-3'
    const { power } = cloudWith(['i-3'], () => refusal('auth', words))
    const outcome = await power(ids(5))
    expect(classesOf(outcome)).toEqual(['i-3'])
    expect(outcome.get('i-4')).toBe('stopping')
  })

  it('does not take one id for the prefix of another', async () => {
    const { power } = cloudWith(['i-1f'], () => refusal('state', "The instance 'i-1f' is not in a state"))
    expect(classesOf(await power(ids(32)))).toEqual(['i-1f'])
  })

  it('splits in halves when none is named, and finds each bad one', async () => {
    const bad = ['i-0', 'i-9', 'i-1f']
    const { calls, power } = cloudWith(bad, () => refusal('protected'))
    const outcome = await power(ids(32))
    expect(classesOf(outcome).toSorted()).toEqual(bad.toSorted())
    expect(outcome.size).toBe(32)
    expect(calls.length).toBeLessThanOrEqual(1 + 2 * 3 * 5)
  })

  it.each(['throttled', 'transient', 'auth'] as const)('stops after a call was %s', async errorClass => {
    const { calls, power } = cloudWith(['i-37'], () => refusal(errorClass))
    const outcome = await power(ids(120))
    expect(calls).toHaveLength(2)
    expect(outcome.get('i-0')).toBe('stopping')
    expect(outcome.get('i-32')).toMatchObject({ errorClass })
    expect(outcome.get('i-77')).toMatchObject({ errorClass })
  })

  it('leaves the outcome open for a machine that the response lacks', async () => {
    const outcome = await powerEach(['i-1', 'i-2'], async () => new Map([['i-2', 'stopped']]))
    expect(outcome.get('i-1')).toMatchObject({ errorClass: 'transient', code: 'MalformedAnswer' })
    expect(outcome.get('i-2')).toBe('stopped')
  })
})
