import { apiClient } from '@lcm/client/client'
import type { ApiRequest } from '@lcm/contract/route-spec'
import type { Worker } from '@lcm/domain/worker/worker'
import { aServingWorker, aWorker } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { availableActions, type DirectAction, sendAction } from './worker-actions.ts'

const actions = (worker: Worker) => availableActions(worker).map(({ action }) => action)
const drain = {
  requested_at: '2026-01-02T03:04:05.000Z',
  by: 'admin',
  reason: '',
  // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
  then: 'STOPPED' as const,
  deadline: '2026-01-02T07:04:05.000Z',
}

describe('available actions', () => {
  it('start with changes of the desired status', () => {
    expect(actions(aServingWorker({ desired_status: 'RUNNING' })).slice(0, 2)).toEqual(['stop', 'drain'])
    expect(actions(aServingWorker({ desired_status: 'RUNNING', drain })).slice(0, 2)).toEqual(['cancel-drain', 'stop'])
    expect(actions(aWorker({ status: 'STOPPED', desired_status: 'STOPPED' }))[0]).toBe('start')
    expect(actions(aWorker({ status: 'STARTING', desired_status: 'RUNNING' }))).not.toContain('drain')
  })

  it('is a retry only of what failed', () => {
    expect(actions(aWorker({ status: 'FAILED' }))).toContain('retry')
    expect(actions(aServingWorker())).not.toContain('retry')
  })

  it('offer the opposite of the current setting', () => {
    const offered = actions(aWorker({ protected: true, cordoned: true, idle_detection_enabled: false }))
    expect(offered).toEqual(expect.arrayContaining(['unprotect', 'uncordon', 'idle-on']))
    expect(offered).not.toContain('protect')
  })

  it('disable the termination of a protected worker, with the reason', () => {
    expect(availableActions(aWorker({ protected: true })).at(-1)).toMatchObject({
      action: 'terminate',
      disabledReason: expect.stringContaining('protected'),
    })
    expect(availableActions(aWorker()).at(-1)).toEqual({ action: 'terminate', disabledReason: null })
  })

  it('begin with the approval of a machine that needs one', () => {
    const found = aServingWorker({ ec2_instance_id: 'i-1', launch: null })
    expect(actions(found)[0]).toBe('approve')
    const pinned = { ...found, cml: { ...found.cml, certificate_sha256: 'ab'.repeat(32) } }
    expect(actions(pinned)).not.toContain('repin')
    const approval = { state: 'approved', by: 'ann', at: found.created_at, fingerprint: null } as const
    expect(actions({ ...pinned, approval })).toContain('repin')
    expect(actions({ ...pinned, approval })).not.toContain('approve')
  })

  it('are few during termination, and only the record removal afterwards', () => {
    const leaving = availableActions(aWorker({ status: 'TERMINATING', desired_status: 'TERMINATED' }))
    expect(leaving).toMatchObject([
      { action: 'terminate', disabledReason: expect.stringContaining('in progress') },
      { action: 'edit' },
    ])
    expect(actions(aWorker({ status: 'TERMINATED', desired_status: 'TERMINATED' }))).toEqual(['remove'])
  })
})

describe('the request of an action', () => {
  async function sent(action: DirectAction, options = {}) {
    const requests: ApiRequest[] = []
    const client = apiClient(async request => {
      requests.push(request)
      return { status: 200, headers: {}, body: JSON.stringify({ version: 8 }) }
    })
    const promised = await sendAction(client, aWorker({ id: 'w-1', version: 7 }), action, options)
    const [request] = requests
    return `${request?.method} ${request?.url.replace('/api/v1/workers/', '')} ${request?.body} ${promised.version}`
  }

  it.each([
    ['start', 'POST w-1/start {} 8'],
    ['stop', 'POST w-1/stop {"force":false} 8'],
    ['drain', 'POST w-1/drain {"then":"STOPPED"} 8'],
    ['cancel-drain', 'POST w-1/cancel-drain {} 8'],
    ['terminate', 'POST w-1/terminate {"force":false} 8'],
    ['retry', 'POST w-1/retry {} 8'],
    ['refresh', 'POST w-1/refresh {} 8'],
    ['protect', 'PATCH w-1 {"protected":true} 8'],
    ['unprotect', 'PATCH w-1 {"protected":false} 8'],
    ['cordon', 'PATCH w-1 {"cordoned":true} 8'],
    ['uncordon', 'PATCH w-1 {"cordoned":false} 8'],
    ['idle-on', 'PATCH w-1 {"idle_detection_enabled":true} 8'],
    ['idle-off', 'PATCH w-1 {"idle_detection_enabled":false} 8'],
    ['remove', 'DELETE w-1 null 8'],
  ] as const)('%s', async (action, request) => {
    expect(await sent(action)).toBe(request)
  })

  it('contains the choice', async () => {
    expect(await sent('stop', { force: true })).toContain('{"force":true}')
    // biome-ignore lint/suspicious/noThenProperty: it is data and never awaited.
    expect(await sent('drain', { then: 'TERMINATED' })).toContain('{"then":"TERMINATED"}')
  })
})
