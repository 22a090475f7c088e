import { aWorker } from '@lcm/testkit/builders'
import { aMachineSight, anObservation, onMachine } from '@lcm/testkit/observations'
import { describe, expect, it } from 'vitest'
import { toInstant, toMs } from '../../instant.ts'
import { decideWorker } from '../decide.ts'
import { CML_PARTS, type CmlAccess, type Observation, WORKER_POLICY } from '../observation.ts'
import type { Condition, Worker } from '../worker.ts'

const ENTERED = toMs(aWorker().entered_status_at)
const now = ENTERED + 10 * 60_000
const sinceMs = ENTERED + 60_000
const REFUSED = { message: 'Authentication failed!', sinceMs }
const OTHER: Condition = { type: 'Overdue', status: true, reason: 'x', message: 'y', since: toInstant(ENTERED) }

const decide = (worker: Worker, access: CmlAccess, more: Partial<Observation> = {}) =>
  decideWorker(worker, anObservation({ access, ...more }), WORKER_POLICY, now)

function conditionIn(access: CmlAccess, worker = onMachine({ conditions: [OTHER] })): Condition {
  const { action } = decide(worker, access)
  const said = action.kind === 'write' ? action.changes.conditions?.at(-1) : undefined
  if (said === undefined) throw new Error(`decided ${action.kind}`)
  return said
}

describe('a CML that refuses what LCM needs', () => {
  it('is told of, with since when, what follows, and what to do', () => {
    const worker = onMachine({ conditions: [OTHER] })
    expect(conditionIn({ credentials: 'accepted', login: REFUSED })).toEqual({
      type: 'CmlAccessRefused',
      status: true,
      reason: 'LoginRefused',
      message:
        "CML refuses LCM's login (Authentication failed!): LCM can't measure this worker, start labs on it, or judge whether " +
        `it is idle. Set the right credentials with \`lcm set credentials ${worker.id}\`, or correct CML_DEFAULT_PASSWORD`,
      since: toInstant(sinceMs),
    })
    const { because } = decide(worker, { login: REFUSED })
    expect(because).toBe("CML refuses LCM's login")
  })

  it.each([
    ['credentials', 'NoCredentials'],
    ['login', 'LoginRefused'],
    ['telemetry', 'TelemetryRefused'],
    ['telemetry_off', 'TelemetryOff'],
    ['system_stats', 'SystemStatsRefused'],
    ['system_health', 'SystemHealthRefused'],
    ['node_definitions', 'NodeDefinitionsRefused'],
    ['licensing', 'LicensingRefused'],
  ] as const)('%s is %s, and comes before all that hurts less', (part, reason) => {
    const lesser = CML_PARTS.slice(CML_PARTS.indexOf(part))
    const { reason: told, message } = conditionIn(Object.fromEntries(lesser.map(each => [each, REFUSED])))
    expect(told).toBe(reason)
    expect(message).toContain(part === 'telemetry_off' ? 'Turn it on in CML' : '`lcm set credentials')
  })

  it('is told of once, in whatever words it refuses: the checks behind have their turn', () => {
    const told = onMachine({ conditions: [conditionIn({ login: REFUSED })] })
    const again = { login: { message: 'Authentication failed at 12:01', sinceMs: sinceMs + 1 } }
    expect(decide(told, again).action.kind).toBe('nothing')
    expect(decide(told, again, { isSurveyDue: true }).action.kind).toBe('survey')
  })

  it('is told of until it accepts that very part: neither silence nor another part takes it back', () => {
    const told = onMachine({ conditions: [OTHER, conditionIn({ telemetry: REFUSED })] })
    for (const access of [{}, { login: 'accepted' }, { login: 'accepted', system_stats: 'accepted' }] as const)
      expect(decide(told, access).action.kind).toBe('nothing')
    expect(decide(told, { licensing: REFUSED }).action.kind).toBe('nothing')
    expect(decide(told, { telemetry: 'accepted' }).action).toMatchObject({ changes: { conditions: [OTHER] } })
  })

  it('is told of by another reason when that one is over', () => {
    const told = onMachine({ conditions: [conditionIn({ login: REFUSED })] })
    expect(conditionIn({ login: 'accepted', telemetry: REFUSED }, told).reason).toBe('TelemetryRefused')
  })

  it('is not told of where it does not run', () => {
    const told = [OTHER, conditionIn({ login: REFUSED })]
    const stopping = onMachine({ conditions: told, desired_status: 'STOPPED' })
    expect(decide(stopping, { login: REFUSED }).action).toMatchObject({
      changes: { status: 'STOPPING', conditions: [OTHER] },
    })
  })

  it('comes after drift', () => {
    const moved = aMachineSight({ public_ip: '127.64.0.9' })
    expect(decide(onMachine(), { login: REFUSED }, { ec2: moved }).because).toContain('public_ip')
  })
})
