import type { Client } from '@lcm/client/client'
import type { CmlLabs } from '@lcm/cloud/cml-labs'

/** Only changes count: a crash before a read is a crash after the change before it. The term is registered before any. */
const isChange = (name: string): boolean =>
  !/^(get|list|nodes|isConverged|consoleLog|download|nodeQuota|recordDecisions|registerTerm)/.test(name)

export type AfterCrashPoint = 'dies' | 'goes on'

export interface CrashPoint {
  /** Number of the change, from 1. */
  readonly at: number
  readonly when: 'before' | 'after'
}

export interface CrashingProcess {
  readonly client: Client
  readonly labs: CmlLabs
  /** The changes that it sent, by name, in order. */
  readonly sent: string[]
  /** Whether the crash point was reached. */
  isReached(): boolean
}

/** A process with an incident at one of its own changes. A crashed process neither sends nor receives anything. */
export function crashingProcess(
  rig: { client: Client; labs: CmlLabs },
  point: CrashPoint,
  happens: () => Promise<AfterCrashPoint>,
): CrashingProcess {
  const sent: string[] = []
  let isDead = false
  let isReached = false
  const silence = (): Promise<never> => new Promise(() => undefined)
  const reach = async () => {
    isReached = true
    isDead = (await happens()) === 'dies'
  }

  async function pass<Answer>(name: string, send: () => Promise<Answer>): Promise<Answer> {
    if (isDead) return silence()
    if (isChange(name)) sent.push(name)
    const isTheOne = isChange(name) && sent.length === point.at
    if (isTheOne && point.when === 'before') await reach()
    if (isDead) return silence()
    const [outcome] = await Promise.allSettled([send()])
    if (isTheOne && point.when === 'after') await reach()
    if (isDead) return silence()
    if (outcome.status === 'rejected') throw outcome.reason
    return outcome.value
  }

  const { client, labs } = rig
  return {
    sent,
    isReached: () => isReached,
    client: { ...client, call: (name, call) => pass(name, () => client.call(name, call)) },
    labs: {
      list: (login, signal) => pass('list', () => labs.list(login, signal)),
      get: (login, id, signal) => pass('get', () => labs.get(login, id, signal)),
      import: (login, request, signal) => pass('import', () => labs.import(login, request, signal)),
      start: (login, id, signal) => pass('start', () => labs.start(login, id, signal)),
      stop: (login, id, signal) => pass('stop', () => labs.stop(login, id, signal)),
      wipe: (login, id, signal) => pass('wipe', () => labs.wipe(login, id, signal)),
      delete: (login, id, signal) => pass('delete', () => labs.delete(login, id, signal)),
      isConverged: (login, id, signal) => pass('isConverged', () => labs.isConverged(login, id, signal)),
      nodes: (login, id, signal) => pass('nodes', () => labs.nodes(login, id, signal)),
      extractConfiguration: (login, node, signal) =>
        pass('extractConfiguration', () => labs.extractConfiguration(login, node, signal)),
      consoleLog: (login, node, signal) => pass('consoleLog', () => labs.consoleLog(login, node, signal)),
      download: (login, id, signal) => pass('download', () => labs.download(login, id, signal)),
      nodeQuota: (login, signal) => pass('nodeQuota', () => labs.nodeQuota(login, signal)),
    },
  }
}
