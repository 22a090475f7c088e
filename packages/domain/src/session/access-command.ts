import type { Access } from './lablet-session.ts'

/** Ports of a node with a common client program. */
const COMMANDS: Readonly<Record<number, (host: string, port: number) => string>> = {
  22: (host, port) => `ssh ${host} -p ${port}`,
  23: (host, port) => `telnet ${host} ${port}`,
  80: (host, port) => `http://${host}:${port}`,
  443: (host, port) => `https://${host}:${port}`,
}

/** The command or URL for an access. The protocol is known by the `inside` port, not by the outside one. */
export function accessLine({ protocol, inside, host, port }: Access): string {
  if (protocol === 'serial') return `telnet ${host} ${port}`
  if (protocol === 'vnc') return `vnc://${host}:${port}`
  const command = protocol === 'tcp' && inside !== null ? COMMANDS[inside] : undefined
  return command?.(host, port) ?? `${host}:${port}`
}
