import { anInstance } from '@lcm/testkit/test-data-builders'
import { expect, it } from 'vitest'
import { toMs } from '../instant.ts'
import { judgeFound, knownWorkers } from './discovery.ts'

it('does not import a machine in an undocumented EC2 state: it would be recorded as stopped, and kept stopped', () => {
  const rules = { fleet: 'lcm', tag: { key: 'cml-managed', value: 'true' }, imageIds: null, importEnabled: true }
  const judge = (state: string) => {
    const instance = anInstance({ state, tags: { 'cml-managed': 'true' } })
    return judgeFound(instance, knownWorkers([]), rules, toMs(instance.launched_at) + 600_000)
  }
  expect(judge('rebooting')).toMatchObject({
    kind: 'ignore',
    because: { code: 'instance_state_unknown', params: { state: 'rebooting' } },
  })
  expect(['pending', 'running', 'stopping', 'stopped'].map(state => judge(state).kind)).toEqual(Array(4).fill('import'))
})
