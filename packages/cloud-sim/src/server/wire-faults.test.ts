import { manualClock } from '@lcm/testkit/manual-clock'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { plantMachines, SIM_COMPUTE_SETUP } from '../conformance/compute-and-metrics-fixtures.ts'
import { openSimModel, type SimModel } from '../sim-model.ts'
import { type SimServer, startSimServer } from './server.ts'

const SILENT = { info: () => undefined, warn: () => undefined }
const AUTHORIZATION = `AWS4-HMAC-SHA256 Credential=AKID/20260102/${SIM_COMPUTE_SETUP.region}/ec2/aws4_request, Signature=x`

let clock = manualClock()
let model: SimModel
let server: SimServer
let id = ''
beforeEach(async () => {
  clock = manualClock()
  model = openSimModel({ seed: 7, clock })
  server = await startSimServer({ model, clock, log: SILENT, cml: 'off' })
  plantMachines(model, 1, {})
  clock.jumpWallClock(600_000)
  id = model.machines()[0]?.instance.instance_id ?? ''
})
afterEach(async () => {
  await server.close()
  model.close()
})

const call = async (action: string) => {
  const body = new URLSearchParams({ Action: action, 'InstanceId.1': id })
  const response = await fetch(server.url, { method: 'POST', body, headers: { authorization: AUTHORIZATION } })
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() }
}
const state = () => model.machine(id)?.state

describe('a faulty wire', () => {
  it('loses a response after its effect, and logs it', async () => {
    model.faults.patch({ lost_answer_rate: 1 })
    await expect(call('StopInstances')).rejects.toThrow()
    expect(state()).toBe('stopping')
    const requests = await (await fetch(`${server.url}/sim/v1/requests?action=StopInstances`)).json()
    expect(requests).toMatchObject({ items: [{ fault: 'lost_answer', status: 200 }] })
  })

  it('loses a request before its effect', async () => {
    model.faults.patch({ lost_request_rate: 1 })
    await expect(call('StopInstances')).rejects.toThrow()
    expect(state()).toBe('running')
  })

  it.each([
    ['empty_answer_rate', '', 'text/xml'],
    ['html_answer_rate', '<html>', 'text/html'],
    ['truncated_answer_rate', '<?xml', 'text/xml'],
  ])('answers 200 with %s after the effect', async (rate, beginning, type) => {
    model.faults.patch({ [rate]: 1 })
    const answer = await call('StopInstances')
    expect(answer).toMatchObject({ status: 200, type: expect.stringContaining(type) })
    expect(answer.text.startsWith(beginning)).toBe(true)
    expect(answer.text).not.toContain('</StopInstancesResponse>')
    expect(state()).toBe('stopping')
  })

  it('holds a response for as long as the plan says', async () => {
    model.faults.patch({ held_answer_rate: 1, held_answer_s: 30 })
    let answered = false
    const held = call('StopInstances').then(answer => {
      answered = true
      return answer
    })
    const listed = () => fetch(`${server.url}/sim/v1/requests?action=StopInstances`).then(response => response.text())
    while (!(await listed()).includes('"fault":"held"')) await clock.advance(0)
    await clock.advance(29_000)
    await listed()
    expect(answered).toBe(false)
    await clock.advance(1_000)
    expect((await held).status).toBe(200)
  })

  it('applies a scripted fault once', async () => {
    const next = { action: 'StopInstances', error: { code: 'Unavailable', status: 503 } }
    await fetch(`${server.url}/sim/v1/faults/next`, { method: 'POST', body: JSON.stringify(next) })
    expect(await call('StopInstances')).toMatchObject({
      status: 503,
      text: expect.stringContaining('<Code>Unavailable</Code>'),
    })
    expect(state()).toBe('running')
    expect((await call('StopInstances')).status).toBe(200)
  })
})
