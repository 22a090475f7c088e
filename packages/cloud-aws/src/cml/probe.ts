import type { CmlEndpoint } from '@lcm/cloud/cml-login'
import type { CmlProbe } from '@lcm/cloud/cml-system'
import type { CmlStage } from '@lcm/domain/worker/boot-stages'
import { type CallLimits, withinDeadline } from '../cloud-call.ts'
import { originOf } from './connection-pool.ts'
import { type HttpResponse, loadHttpClient, sendRequest } from './http-client.ts'
import { jsonIn, recordIn, textIn } from './json-readers.ts'
import { type TlsConnection, type Trust, tlsConnection } from './tls-connection.ts'

export const PROBE_DEADLINE_MS = 3_000
export const PROBES_MAX = 200
export const PROBE_PATH = '/system_information'

const BODY_BYTES_MAX = 64 * 1024
const VERSION_CHARS_MAX = 100

const REQUEST = {
  method: 'GET',
  path: `/api/v0${PROBE_PATH}`,
  headers: { accept: 'application/json' },
  body: null,
  bytesMax: BODY_BYTES_MAX,
} as const

export interface ProbeResult {
  readonly probe: CmlProbe
  readonly status: number | null
}

/**
 * Probes once. Each probe opens a new connection, since it must prove every step from TCP on; a pooled one would hide a
 * server that no longer accepts connections.
 */
export async function probeOnce(endpoint: CmlEndpoint, trust: Trust, limits: CallLimits): Promise<ProbeResult> {
  const connection = tlsConnection(trust)
  try {
    const answer = await withinDeadline(limits, signal => ask(endpoint, connection, signal))
    return { probe: judged(answer, connection), status: answer.status }
  } catch (error) {
    return { probe: { ...connection.progress, version: null, detail: reasonOf(error) }, status: null }
  } finally {
    connection.destroy()
  }
}

export const probeNotMade = (reason: unknown): CmlProbe => ({
  stage: 'NOTHING',
  version: null,
  certificate_sha256: null,
  detail: reasonOf(reason),
})

async function ask(endpoint: CmlEndpoint, connection: TlsConnection, signal: AbortSignal): Promise<HttpResponse> {
  const url = originOf(endpoint)
  const newClient = await loadHttpClient()
  const client = newClient(url.origin, () => connection.open(url, endpoint.certificate_sha256))
  try {
    return await sendRequest(client, REQUEST, signal)
  } finally {
    await client.destroy()
  }
}

/** Any HTTP server other than CML's controller counts as the gateway in front of it. */
function judged({ status, text }: HttpResponse, connection: TlsConnection): CmlProbe {
  const seen = (stage: CmlStage, detail: string, version: string | null = null): CmlProbe => ({
    stage,
    version,
    certificate_sha256: connection.progress.certificate_sha256,
    detail,
  })
  if (status !== 200) return seen('GATEWAY', `answered ${status}`)
  const information = recordIn(jsonIn(text))
  if (!information) return seen('GATEWAY', 'answered 200, but not with the JSON of CML')
  const version = textIn(information, 'version')?.slice(0, VERSION_CHARS_MAX) ?? null
  if (information.ready === true) return seen('READY', '', version)
  return seen('API', 'CML is up but not ready to start nodes', version)
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error && typeof error.code === 'string' ? error.code : null
  if (code === 'ECONNREFUSED') return 'connection refused'
  return error.message
}
