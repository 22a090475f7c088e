import type { PortWish } from '@lcm/domain/lablet/ports'
import type { LabletSession } from '@lcm/domain/session/lablet-session'

export type Door = LabletSession['access'][number]

/** Node ports for which there is a program that everybody has. */
const COMMANDS: Readonly<Record<number, (host: string, port: number) => string>> = {
  22: (host, port) => `ssh ${host} -p ${port}`,
  23: (host, port) => `telnet ${host} ${port}`,
  80: (host, port) => `http://${host}:${port}`,
  443: (host, port) => `https://${host}:${port}`,
}

/** What to type, or where to go, to get in. The number by which a port is known outside says nothing: `inside` does. */
export function accessLine({ name, protocol, host, port }: Door, ports: readonly PortWish[]): string {
  if (protocol === 'serial') return `telnet ${host} ${port}`
  if (protocol === 'vnc') return `vnc://${host}:${port}`
  const inside = protocol === 'tcp' ? ports.find(wish => wish.name === name)?.inside : null
  const command = inside === null || inside === undefined ? undefined : COMMANDS[inside]
  return command?.(host, port) ?? `${host}:${port}`
}
