import type { CmlLab, CmlLabs, CmlNode, CmlNodePath } from '@lcm/cloud/cml-labs'
import type { CmlLogin } from '@lcm/cloud/cml-login'
import { CloudError } from '@lcm/cloud/errors'
import { withinDeadline } from '../cloud-call.ts'
import { mapConcurrently } from './admission-gate.ts'
import { toCmlError } from './api-errors.ts'
import {
  type CmlApi,
  type CmlClientOptions,
  type CmlRequest,
  cmlApi,
  ID,
  jsonOf,
  LARGE_BYTES_MAX,
  LONG_DEADLINE_MS,
  throwMalformed,
} from './cml-api.ts'
import type { HttpResponse } from './http-client.ts'
import { jsonIn, listOf, numberIn, textIn } from './json-readers.ts'
import { labIn, nodeIn } from './lab-readers.ts'

const AT_ONCE_MAX = 8
const TITLE_CHARS_MAX = 64
/** Every topology has a list of nodes, which may be empty. */
const NODES = /\bnodes\b/

const LIST: CmlRequest = { method: 'GET', path: '/labs', query: { show_all: 'true' } }
const QUOTA: CmlRequest = { method: 'GET', path: '/diagnostics/licensing' }

/** The CML labs API over HTTPS. */
export function cmlLabsClient(options: CmlClientOptions): CmlLabs & { close(): Promise<void> } {
  const api = cmlApi(options)
  const within = <Answer>(action: string, signal: AbortSignal, run: (signal: AbortSignal) => Promise<Answer>) => {
    const limits = { clock: options.clock, deadlineMs: LONG_DEADLINE_MS, signals: [signal] }
    return withinDeadline(limits, run).catch(error => {
      throw toCmlError(action, error, [])
    })
  }
  return {
    list: (login, signal) => within('GET /labs', signal, inner => list(api, login, inner)),
    get: (login, labId, signal) => get({ api, login, labId, signal }),
    import: (login, request, signal) => importLab(api, login, { ...request, signal }),
    start: (login, labId, signal) => change('start', { api, login, labId, signal }),
    stop: (login, labId, signal) => change('stop', { api, login, labId, signal }),
    wipe: (login, labId, signal) => change('wipe', { api, login, labId, signal }),
    delete: (login, labId, signal) => deleteLab({ api, login, labId, signal }),
    isConverged: (login, labId, signal) => isConverged({ api, login, labId, signal }),
    nodes: (login, labId, signal) =>
      within('GET /labs/{lab_id}/nodes', signal, inner => nodes({ api, login, labId, signal: inner })),
    extractConfiguration: (login, node, signal) => extractConfiguration(api, login, { node, signal }),
    consoleLog: (login, node, signal) => consoleLog(api, login, { node, signal }),
    download: (login, labId, signal) => download({ api, login, labId, signal }),
    async nodeQuota(login, signal) {
      const answer = jsonOf(await api.call(login, QUOTA, signal), QUOTA)
      const started = numberIn(answer, 'started') ?? throwMalformed(QUOTA, 'without the nodes that run')
      return { quota: numberIn(answer, 'quota'), started }
    },
    close: () => api.close(),
  }
}

interface OneLab {
  readonly api: CmlApi
  readonly login: CmlLogin
  readonly labId: string
  readonly signal: AbortSignal
}

const aboutLab = (method: CmlRequest['method'], below: string, labId: string): CmlRequest => ({
  method,
  path: `/labs/{lab_id}${below}`,
  ids: { lab_id: labId },
})

async function idsIn(answer: HttpResponse, request: CmlRequest): Promise<readonly string[]> {
  const ids = jsonOf(answer, request)
  if (!Array.isArray(ids)) return throwMalformed(request, 'not with a list')
  return ids.map(id =>
    typeof id === 'string' && ID.test(id) ? id : throwMalformed(request, 'with something that is no id'),
  )
}

/** A lab that is deleted while the others are read is left out. */
async function list(api: CmlApi, login: CmlLogin, signal: AbortSignal): Promise<readonly CmlLab[]> {
  const ids = await idsIn(await api.call(login, LIST, signal), LIST)
  const labs = await mapConcurrently(ids, AT_ONCE_MAX, labId => unlessGone(get({ api, login, labId, signal })))
  return labs.filter(lab => lab !== null)
}

const unlessGone = <Answer>(call: Promise<Answer>): Promise<Answer | null> =>
  call.catch((error: unknown) => {
    if (error instanceof CloudError && error.errorClass === 'not_found') return null
    throw error
  })

async function get({ api, login, labId, signal }: OneLab): Promise<CmlLab> {
  const request = aboutLab('GET', '', labId)
  const answer = jsonOf(await api.call(login, request, signal), request)
  return labIn(answer, labId) ?? throwMalformed(request, 'without the state of the lab')
}

interface Import {
  readonly title: string
  readonly topology: string
  readonly signal: AbortSignal
}

async function importLab(api: CmlApi, login: CmlLogin, { title, topology, signal }: Import) {
  const query = { title: [...title].slice(0, TITLE_CHARS_MAX).join('') }
  const request: CmlRequest = { method: 'POST', path: '/import', query, text: topology, deadlineMs: LONG_DEADLINE_MS }
  if (Buffer.byteLength(topology) > LARGE_BYTES_MAX) {
    const message = `the topology is longer than ${LARGE_BYTES_MAX} bytes`
    throw new CloudError('invalid', { code: 'TopologyTooLong', action: 'POST /import', message })
  }
  const answer = jsonOf(await api.call(login, request, signal), request)
  const lab_id = textIn(answer, 'id') ?? ''
  if (!ID.test(lab_id)) return throwMalformed(request, 'without the id of the lab')
  const warnings = listOf(Reflect.get(Object(answer), 'warnings')).filter(warning => typeof warning === 'string')
  return { lab_id, warnings }
}

/**
 * Servers before 2.3 have another path for the change. A 404 that does not name the lab may mean the path or the lab.
 */
async function change(act: 'start' | 'stop' | 'wipe', lab: OneLab): Promise<void> {
  const { api, login, labId, signal } = lab
  try {
    await api.call(login, aboutLab('PUT', `/${act}`, labId), signal)
  } catch (error) {
    if (!(error instanceof CloudError) || error.errorClass !== 'transient' || error.code !== 'HTTP404') throw error
    await get(lab)
    await api.call(login, aboutLab('PUT', `/state/${act}`, labId), signal)
  }
}

async function deleteLab({ api, login, labId, signal }: OneLab): Promise<void> {
  await unlessGone(api.call(login, aboutLab('DELETE', '', labId), signal))
}

async function isConverged({ api, login, labId, signal }: OneLab): Promise<boolean> {
  const request = aboutLab('GET', '/check_if_converged', labId)
  const answer = jsonIn((await api.call(login, request, signal)).text)
  return typeof answer === 'boolean' ? answer : throwMalformed(request, 'neither with true nor with false')
}

/** Servers that do not support `data` return ids. A node that is deleted meanwhile proves nothing about the lab. */
async function nodes(lab: OneLab): Promise<readonly CmlNode[]> {
  const { api, login, labId, signal } = lab
  const query = { data: 'true', exclude_configurations: 'true' }
  const request = { ...aboutLab('GET', '/nodes', labId), query, bytesMax: LARGE_BYTES_MAX }
  const answer = await api.call(login, request, signal)
  const found = jsonOf(answer, request)
  if (!Array.isArray(found)) return throwMalformed(request, 'not with a list')
  if (typeof found[0] !== 'string')
    return found.map(node => nodeIn(node) ?? throwMalformed(request, 'with half a node'))
  const each = await mapConcurrently(await idsIn(answer, request), AT_ONCE_MAX, nodeId => unlessGone(node(lab, nodeId)))
  return each.map(one => one ?? throwMalformed(request, 'with a node that is not there any more'))
}

const aboutNode = (method: CmlRequest['method'], below: string, node: CmlNodePath): CmlRequest => ({
  method,
  path: `/labs/{lab_id}/nodes/{node_id}${below}`,
  ids: { lab_id: node.lab_id, node_id: node.node_id },
})

async function node({ api, login, labId, signal }: OneLab, nodeId: string): Promise<CmlNode> {
  const path = { lab_id: labId, node_id: nodeId }
  const request = { ...aboutNode('GET', '', path), query: { exclude_configurations: 'true' } }
  const answer = jsonOf(await api.call(login, request, signal), request)
  return nodeIn(answer) ?? throwMalformed(request, 'with half a node')
}

interface OneNode {
  readonly node: CmlNodePath
  readonly signal: AbortSignal
}

/** The answer repeats the configuration, which `download` returns. */
async function extractConfiguration(api: CmlApi, login: CmlLogin, { node, signal }: OneNode): Promise<void> {
  const limits = { deadlineMs: LONG_DEADLINE_MS, bytesMax: LARGE_BYTES_MAX }
  const request = { ...aboutNode('PUT', '/extract_configuration', node), ...limits }
  refusePage(await api.call(login, request, signal), request)
}

/** A proxy may answer in place of CML. */
function refusePage({ contentType }: HttpResponse, request: CmlRequest): void {
  if (contentType === 'text/html') throwMalformed(request, 'not by CML')
}

const LOG_LINES = '50'

async function consoleLog(api: CmlApi, login: CmlLogin, { node, signal }: OneNode): Promise<string> {
  const request = { ...aboutNode('GET', '/consoles/0/log', node), query: { lines: LOG_LINES } }
  const answer = await api.call(login, request, signal)
  refusePage(answer, request)
  const quoted = jsonIn(answer.text)
  return typeof quoted === 'string' ? quoted : (answer.text ?? '')
}

/** YAML, although the API document promises a JSON string. */
async function download({ api, login, labId, signal }: OneLab): Promise<string> {
  const limits = { deadlineMs: LONG_DEADLINE_MS, bytesMax: LARGE_BYTES_MAX }
  const request = { ...aboutLab('GET', '/download', labId), ...limits }
  const { text, contentType } = await api.call(login, request, signal)
  const quoted = text?.startsWith('"') ? jsonIn(text) : null
  const topology = typeof quoted === 'string' ? quoted : (text ?? '')
  const isTopology = contentType !== 'text/html' && NODES.test(topology) && !topology.includes('\0')
  return isTopology ? topology : throwMalformed(request, 'not with a topology')
}
