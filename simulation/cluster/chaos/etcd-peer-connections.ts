import type { EtcdMember } from '@lcm/coordination/testing/etcd-server'
import { type CuttableProxy, startCuttableProxy } from '../processes/cuttable-proxy.ts'

/** The connections between the members of one etcd. */
export interface EtcdPeerConnections {
  /** Returns the address at which the other members reach this one. */
  readonly addressOf: (name: string, address: string) => Promise<string>
  /** Cuts a member off from the other members. Its clients still reach it. */
  cutOff(member: EtcdMember): Promise<void>
  reconnect(): void
  close(): void
}

export function openEtcdPeerConnections(): EtcdPeerConnections {
  const proxies = new Map<string, CuttableProxy>()
  return {
    async addressOf(name, address) {
      const proxy = await startCuttableProxy(address)
      proxies.set(name, proxy)
      return proxy.endpoint
    },
    async cutOff(member) {
      const isItself = speaksAs(await member.id())
      for (const [name, proxy] of proxies) proxy.shut(name === member.name ? undefined : isItself)
    },
    reconnect() {
      for (const proxy of proxies.values()) proxy.open()
    },
    close() {
      for (const proxy of proxies.values()) proxy.close()
    },
  }
}

/** Each request of a member has its id in a header, and members share no connections. */
const speaksAs = (id: bigint) => (opening: Buffer) =>
  new RegExp(`^x-server-from: ${id.toString(16)}\r$`, 'im').test(opening.toString('latin1'))
