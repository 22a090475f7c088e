import type { CmlLogin } from '@lcm/cloud/cml-login'
import type { CmlActivity, CmlProbe, CmlSystem } from '@lcm/cloud/cml-system'
import { admissionGate } from './admission-gate.ts'
import {
  type CmlApi,
  type CmlClientOptions,
  type CmlRequest,
  cmlApi,
  jsonOf,
  LARGE_BYTES_MAX,
  throwMalformed,
  trustOf,
} from './cml-api.ts'
import { flagIn, recordIn, textIn } from './json-readers.ts'
import { cmlLicense } from './license-calls.ts'
import { PROBE_DEADLINE_MS, PROBE_PATH, PROBES_MAX, probeNotMade, probeOnce } from './probe.ts'
import { eventIn, healthIn, statsIn } from './system-readers.ts'

const STATS: CmlRequest = { method: 'GET', path: '/system_stats' }
const HEALTH: CmlRequest = { method: 'GET', path: '/system_health' }
const DEFINITIONS: CmlRequest = { method: 'GET', path: '/simplified_node_definitions', bytesMax: LARGE_BYTES_MAX }
const TELEMETRY: CmlRequest = { method: 'GET', path: '/telemetry' }
const EVENTS: CmlRequest = { method: 'GET', path: '/telemetry/events', bytesMax: LARGE_BYTES_MAX }

/** The CML System API over HTTPS. */
export function cmlSystemClient(options: CmlClientOptions): CmlSystem & { close(): Promise<void> } {
  const api = cmlApi(options)
  const probes = cmlProbes(options)
  const read = async (request: CmlRequest, login: CmlLogin, signal: AbortSignal) =>
    recordIn(jsonOf(await api.call(login, request, signal), request)) ?? throwMalformed(request, 'not with an object')
  return {
    probe: probes.probe,
    stats: async (login, signal) => statsIn(await read(STATS, login, signal)),
    health: async (login, signal) => healthIn(await read(HEALTH, login, signal)),
    async nodeDefinitions(login, signal) {
      const definitions = await listRead(api, DEFINITIONS, { login, signal })
      const ids = definitions.map(definition => textIn(definition, 'id') ?? throwMalformed(DEFINITIONS, 'without ids'))
      return ids.sort()
    },
    ...cmlLicense(api),
    async activity(login, signal) {
      const is_collected = flagIn(await read(TELEMETRY, login, signal), 'opt_in') === true
      const own_user_id = await api.ownUserId(login, signal)
      const events = is_collected ? await eventsRead(api, login, signal) : []
      return { own_user_id, is_collected, events }
    },
    async close() {
      await Promise.all([api.close(), probes.close()])
    },
  }
}

async function listRead(
  api: CmlApi,
  request: CmlRequest,
  { login, signal }: { login: CmlLogin; signal: AbortSignal },
): Promise<readonly unknown[]> {
  const answer = jsonOf(await api.call(login, request, signal), request)
  return Array.isArray(answer) ? answer : throwMalformed(request, 'not with a list')
}

/** An event that can't be read may be the one that shows user activity. */
async function eventsRead(api: CmlApi, login: CmlLogin, signal: AbortSignal): Promise<CmlActivity['events']> {
  const events = await listRead(api, EVENTS, { login, signal })
  return events.map(event => eventIn(event) ?? throwMalformed(EVENTS, 'with an event that has no readable time'))
}

/**
 * Probes have a limit of their own, so that many hung servers block nothing else. Waiting for it does not count as
 * hanging.
 */
function cmlProbes(options: CmlClientOptions) {
  const { clock, onCall } = options
  const closing = new AbortController()
  const inFlight = new Set<Promise<CmlProbe>>()
  const gate = admissionGate(PROBES_MAX)
  const trust = trustOf(options)

  const probeNow: CmlSystem['probe'] = async (endpoint, signal) => {
    const limits = { clock, deadlineMs: PROBE_DEADLINE_MS, signals: [signal, closing.signal] }
    const beganMs = clock.monotonic()
    const { probe, status } = await probeOnce(endpoint, trust, limits)
    onCall?.({ method: 'GET', path: PROBE_PATH, status, ms: clock.monotonic() - beganMs })
    return probe
  }
  const probeWhenAdmitted: CmlSystem['probe'] = async (endpoint, signal) => {
    try {
      const leave = await gate.enter(signal, closing.signal)
      return await probeNow(endpoint, signal).finally(leave)
    } catch {
      return probeNotMade(new Error('it was canceled'))
    }
  }
  return {
    probe(endpoint: Parameters<CmlSystem['probe']>[0], signal: AbortSignal): Promise<CmlProbe> {
      const probe = probeWhenAdmitted(endpoint, signal).finally(() => inFlight.delete(probe))
      inFlight.add(probe)
      return probe
    },
    async close() {
      closing.abort()
      await Promise.all(inFlight)
    },
  }
}
