import type { CmlLab, CmlLabs, CmlNode, CmlNodePath, ImportedLab, LabImport } from '@lcm/cloud/cml-labs'
import type { CmlLogin } from '@lcm/cloud/cml-login'
import type { CmlLoginResolver } from '@lcm/cloud/cml-login-resolver'
import { CloudError, NotLeadingError } from '@lcm/cloud/errors'
import { recordedEndpoint } from '@lcm/domain/worker/cml-endpoint'
import type { Worker } from '@lcm/domain/worker/worker'
import type { Leadership, ReconcileContext } from '@lcm/runtime'

/** The labs of one worker, for one reconcile. Each change is confirmed before it is sent. */
export interface FencedLabs {
  /** The owner of the labs that LCM imports. */
  ownName(): Promise<string>
  list(): Promise<readonly CmlLab[]>
  /** Null for a lab that is not there. */
  get(labId: string): Promise<CmlLab | null>
  nodes(labId: string): Promise<readonly CmlNode[]>
  isConverged(labId: string): Promise<boolean>
  import(request: LabImport): Promise<ImportedLab>
  start(labId: string): Promise<void>
  stop(labId: string): Promise<void>
  wipe(labId: string): Promise<void>
  delete(labId: string): Promise<void>
  consoleLog(node: CmlNodePath): Promise<string>
  /** `until` aborts it earlier than the rest. */
  extractConfiguration(node: CmlNodePath, until: AbortSignal): Promise<void>
  download(labId: string): Promise<string>
}

export interface FencedLabsParts {
  readonly labs: CmlLabs
  readonly logins: CmlLoginResolver
}

export interface LabFence {
  readonly worker: Worker
  readonly signal: AbortSignal
  readonly leadership: Leadership
  /** Calls to CML may be slow, so they go outside the slot of the reconcile. */
  readonly withoutSlot: ReconcileContext['withoutSlot']
  /** Throws SupersededError when the announced change is out of date. */
  confirm(): Promise<void>
}

export function fencedLabs({ labs, logins }: FencedLabsParts, asked: LabFence): FencedLabs {
  const { worker, signal, leadership, confirm, withoutSlot } = asked
  const login = () => loginTo(logins, worker, signal)
  /** The last checks before a change that no compare-and-set guards. */
  async function allowed(act: string): Promise<CmlLogin> {
    const known = await login()
    await confirm()
    if (!leadership.isHeld()) throw new NotLeadingError(`${act} was not sent: this instance leads no longer`)
    return known
  }
  const read = async <Answer>(ask: (login: CmlLogin) => Promise<Answer>): Promise<Answer> => {
    const known = await login()
    return withoutSlot(() => ask(known))
  }
  const change = async <Answer>(act: string, ask: (login: CmlLogin) => Promise<Answer>): Promise<Answer> => {
    const known = await allowed(act)
    return withoutSlot(() => ask(known))
  }
  return {
    ownName: async () => (await login()).username,
    list: () => read(known => labs.list(known, signal)),
    get: labId => unlessGone(read(known => labs.get(known, labId, signal))),
    nodes: labId => read(known => labs.nodes(known, labId, signal)),
    isConverged: labId => read(known => labs.isConverged(known, labId, signal)),
    import: request => change('import', known => labs.import(known, request, signal)),
    start: labId => change('start', known => labs.start(known, labId, signal)),
    stop: labId => change('stop', known => labs.stop(known, labId, signal)),
    wipe: labId => change('wipe', known => labs.wipe(known, labId, signal)),
    delete: labId => change('delete', known => labs.delete(known, labId, signal)),
    consoleLog: node => read(known => labs.consoleLog(known, node, signal)),
    extractConfiguration: (node, until) =>
      change('extract_configuration', known => labs.extractConfiguration(known, node, until)),
    download: labId => read(known => labs.download(known, labId, signal)),
  }
}

/** Logs in only at the worker's own address. */
export async function loginTo(logins: CmlLoginResolver, worker: Worker, signal: AbortSignal): Promise<CmlLogin> {
  const url = recordedEndpoint(worker)
  if (url !== null) return logins.resolve(worker, url, signal)
  const message = `${worker.name} has no recorded address of its own`
  throw new CloudError('transient', { code: 'NoAddress', action: 'authenticate', message })
}

export const isNotFound = (error: unknown): boolean => error instanceof CloudError && error.errorClass === 'not_found'

async function unlessGone(call: Promise<CmlLab>): Promise<CmlLab | null> {
  try {
    return await call
  } catch (error) {
    if (isNotFound(error)) return null
    throw error
  }
}
