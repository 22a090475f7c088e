import { expect, it } from 'vitest'
import { simClient } from './sim-client.ts'

const answer = (status: number, body: string) => ({ status, headers: {}, body })
const signal = new AbortController().signal

it('calls the control API with its own field names', async () => {
  const sent: string[] = []
  const sim = simClient('/sim/v1', async ({ url, method, body }) => {
    sent.push([method, url, body].filter(Boolean).join(' '))
    return answer(200, JSON.stringify({ items: ['old', 'new'] }))
  })
  expect(await sim.requests(2, signal)).toEqual(['new', 'old'])
  await sim.machines(signal)
  await sim.act('i-1', 'stop')
  await sim.patch({ preset: 'hostile' })
  await sim.script('RunInstances', 2, { fault: 'lost_answer' })
  await sim.reset()
  await sim.breakCml('i-1', { network: 'cut' })
  await sim.healCml('i-1')
  await sim.forgetSessions('i-1')
  expect(sent).toEqual([
    'GET /sim/v1/requests?limit=2',
    'GET /sim/v1/instances',
    'POST /sim/v1/instances/i-1/stop',
    'PATCH /sim/v1/faults {"preset":"hostile"}',
    'POST /sim/v1/faults/next {"action":"RunInstances","times":2,"fault":"lost_answer"}',
    'POST /sim/v1/faults/reset',
    'PATCH /sim/v1/instances/i-1/cml/faults {"network":"cut"}',
    'DELETE /sim/v1/instances/i-1/cml/faults',
    'POST /sim/v1/instances/i-1/cml/forget-sessions',
  ])
})

it.each([
  [409, '{"code":"x","message":"it is stopped"}', 'it is stopped'],
  [401, '{"detail":"sign in"}', 'sign in'],
  [502, '<html>', 'the simulator answered 502'],
])('shows the message of a rejection with %i', async (status, body, words) => {
  const refused = simClient('', async () => answer(status, body)).machines(signal)
  await expect(refused).rejects.toThrow(words)
  await expect(refused).rejects.toMatchObject({ name: 'SimRefusal', status })
})
