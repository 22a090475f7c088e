import type { Clock } from '@lcm/runtime/clock'
import type { MachineView } from '../ec2/instance.ts'
import type { SimModel } from '../sim-model.ts'
import { type CmlHttpsServer, cmlHttpsServer } from './cml-https-server.ts'
import { nodePortListeners } from './node-port-listeners.ts'

export interface SimLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

export interface CmlApi {
  /** Whether the machine's port is open. */
  isServed(instanceId: string): boolean
  close(): Promise<void>
}

export interface CmlApiOptions {
  readonly model: SimModel
  readonly clock: Clock
  readonly log: SimLog
}

/** Another process may hold the address for a while, such as another simulator with the same seed. */
const LISTEN_AGAIN_MS = 1000

/** Serves CML and the ports of its nodes for every machine that has booted far enough. It wakes only on changes. */
export function cmlApi(options: CmlApiOptions): CmlApi {
  const { model, clock, log } = options
  const servers = new Map<string, CmlHttpsServer>()
  const ports = nodePortListeners(model)
  const timers = new Map<string, () => void>()
  let closing = false

  function wakeIn(instanceId: string, ms: number | null): void {
    timers.get(instanceId)?.()
    timers.delete(instanceId)
    if (ms === null) return
    const cancel = clock.after(ms, () => follow(instanceId))
    timers.set(instanceId, cancel)
  }

  function follow(instanceId: string): void {
    if (closing) return
    const machine = model.machine(instanceId)
    const wanted = machine && machine.stage !== 'NOTHING' ? machine.endpoint : null
    const server = servers.get(instanceId)
    if (server && (server.endpoint !== wanted || isReplaced(instanceId, server))) drop(instanceId)
    const changesAt = nextChangeMs(model, instanceId)
    wakeIn(instanceId, changesAt === null ? null : changesAt - model.now())
    if (machine && wanted !== null && !servers.has(instanceId)) serve(instanceId, machine)
    ports.follow(instanceId, wanted)
  }

  const isReplaced = (instanceId: string, { certificate_sha256 }: CmlHttpsServer): boolean =>
    model.cml.fingerprintOf(instanceId) !== certificate_sha256

  /** The certificate may have to be created and stored first, which can fail like listening. */
  function serve(instanceId: string, machine: MachineView): void {
    try {
      const server = cmlHttpsServer(options, machine, error => failed(instanceId, error))
      servers.set(instanceId, server)
    } catch (error) {
      failed(instanceId, error)
    }
  }

  function drop(instanceId: string): Promise<void> | undefined {
    const server = servers.get(instanceId)
    servers.delete(instanceId)
    return server?.close()
  }

  function failed(instanceId: string, error: unknown): void {
    log.warn({ instance_id: instanceId, error: String(error) }, failureWords(error))
    drop(instanceId)
    if (!closing) wakeIn(instanceId, LISTEN_AGAIN_MS)
  }

  const unwatch = model.watch(follow)
  for (const machine of model.machines()) follow(machine.instance.instance_id)
  return {
    isServed: instanceId => servers.get(instanceId)?.isListening() ?? false,
    async close() {
      closing = true
      unwatch()
      for (const cancel of timers.values()) cancel()
      await Promise.all([...[...servers.keys()].map(drop), ports.close()])
    },
  }
}

/** When the machine, its server or the ports of its nodes next change by themselves, or null. */
function nextChangeMs(model: SimModel, instanceId: string): number | null {
  const changes = [model.changesAtMs(instanceId), model.cml.nodePortsChangeAtMs(instanceId)]
  const known = changes.filter(at => at !== null)
  return known.length === 0 ? null : Math.min(...known)
}

/** Two copies of a data folder have the same machines at the same addresses. */
function failureWords(error: unknown): string {
  const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'
  return isTaken
    ? 'the address of a simulated CML server is taken, most likely by another LCM on a copy of this data folder: ' +
        'stop that one, or use a new folder with --data; trying again'
    : 'a simulated CML server could not start; trying again'
}
