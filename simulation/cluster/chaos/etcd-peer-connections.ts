import type { EtcdMember } from '@lcm/coordination/testing/etcd-server'
import { type CuttableProxy, startCuttableProxy } from '../processes/cuttable-proxy.ts'

/** The wires between the members of one etcd. */
export interface EtcdPeerConnections {
  /** By the name of a member and where it listens: where the others are to look for it. */
  readonly way: (name: string, address: string) => Promise<string>
  /** From now on nothing comes from the member to the others, nor from them to it. Its clients still reach it. */
  cutOff(member: EtcdMember): Promise<void>
  mend(): void
  close(): void
}

export function openEtcdPeerConnections(): EtcdPeerConnections {
  const gates = new Map<string, CuttableProxy>()
  return {
    async way(name, address) {
      const gate = await startCuttableProxy(address)
      gates.set(name, gate)
      return gate.endpoint
    },
    async cutOff(member) {
      const isItself = speaksAs(await member.id())
      for (const [name, gate] of gates) gate.shut(name === member.name ? undefined : isItself)
    },
    mend() {
      for (const gate of gates.values()) gate.open()
    },
    close() {
      for (const gate of gates.values()) gate.close()
    },
  }
}

/** Members say who they are at the head of each request, and each has connections of its own. */
const speaksAs = (id: bigint) => (opening: Buffer) =>
  new RegExp(`^x-server-from: ${id.toString(16)}\r$`, 'im').test(opening.toString('latin1'))
