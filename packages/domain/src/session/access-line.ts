import type { Access } from './lablet-session.ts'

/** Ports of a node for which there is a program that everybody has. */
const COMMANDS: Readonly<Record<number, (host: string, port: number) => string>> = {
  22: (host, port) => `ssh ${host} -p ${port}`,
  23: (host, port) => `telnet ${host} ${port}`,
  80: (host, port) => `http://${host}:${port}`,
  443: (host, port) => `https://${host}:${port}`,
}

/** What to type, or where to go, to get in. The number by which a port is known outside says nothing: `inside` does. */
export function accessLine({ protocol, inside, host, port }: Access): string {
  if (protocol === 'serial') return `telnet ${host} ${port}`
  if (protocol === 'vnc') return `vnc://${host}:${port}`
  const command = protocol === 'tcp' && inside !== null ? COMMANDS[inside] : undefined
  return command?.(host, port) ?? `${host}:${port}`
}
