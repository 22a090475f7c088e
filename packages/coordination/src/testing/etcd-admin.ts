import { systemClock } from '@lcm/runtime/clock'
import { type CallOptions, type EtcdTls, openConnection } from '../etcd/client/connection.ts'
import { parseEndpoint } from '../etcd/client/endpoint.ts'
import { Auth, KV, Lease, Maintenance } from './generated/etcd-admin_pb.ts'

const NO_SPACE = 1
const DEACTIVATE = 2
const READ_AND_WRITE = 2
const EVERYTHING = { key: Buffer.from([0]), rangeEnd: Buffer.from([0]) }

export interface EtcdAdminOptions {
  readonly tls?: EtcdTls
  readonly timeoutMs?: number
}

export type EtcdAdmin = ReturnType<typeof etcdAdmin>

/** Operator actions on one etcd member. */
export function etcdAdmin(endpoint: string, { tls, timeoutMs = 10_000 }: EtcdAdminOptions = {}) {
  const { unary, close } = openConnection(parseEndpoint(endpoint, tls !== undefined), systemClock, tls)
  const options: CallOptions = { timeoutMs }
  const bytes = (text: string) => Buffer.from(text)
  return {
    close,
    /** Returns the revision. */
    async put(key: string, value: string, lease = 0n) {
      const { header } = await unary(KV.method.put, { key: bytes(key), value: bytes(value), lease }, options)
      return Number(header?.revision ?? 0n)
    },
    /** All in one revision. */
    async putAtOnce(keys: readonly string[], value: string) {
      const success = keys.map(key => ({ requestPut: { key: bytes(key), value: bytes(value) } }))
      await unary(KV.method.txn, { success }, options)
    },
    delete: (key: string) => unary(KV.method.deleteRange, { key: bytes(key) }, options),
    async wipe() {
      const { leases } = await unary(Lease.method.leaseLeases, {}, options)
      for (const { id } of leases) await unary(Lease.method.leaseRevoke, { id }, options).catch(() => undefined)
      await unary(KV.method.deleteRange, EVERYTHING, options)
    },
    async revision() {
      const { header } = await unary(Maintenance.method.status, {}, options)
      return Number(header?.revision ?? 0n)
    },
    /** Compacts the history up to now. */
    async compact() {
      const { header } = await unary(Maintenance.method.status, {}, options)
      await unary(KV.method.compact, { revision: header?.revision ?? 0n, physical: true }, options)
    },
    async leases() {
      const { leases } = await unary(Lease.method.leaseLeases, {}, options)
      return leases.map(({ id }) => id)
    },
    revoke: (id: bigint) => unary(Lease.method.leaseRevoke, { id }, options),
    async status() {
      const { header, leader } = await unary(Maintenance.method.status, {}, options)
      return { memberId: header?.memberId ?? 0n, leaderId: leader }
    },
    defragment: () => unary(Maintenance.method.defragment, {}, options),
    async disarm() {
      const { header } = await unary(Maintenance.method.status, {}, options)
      const memberId = header?.memberId ?? 0n
      await unary(Maintenance.method.alarm, { action: DEACTIVATE, memberId, alarm: NO_SPACE }, options)
    },
    /** Enables authentication. `user` may read and write under `prefix`, root everything. */
    async askForUsers(user: { name: string; password: string; prefix: string }) {
      await unary(Auth.method.userAdd, { name: 'root', password: user.password }, options)
      await unary(Auth.method.userGrantRole, { user: 'root', role: 'root' }, options)
      await unary(Auth.method.userAdd, { name: user.name, password: user.password }, options)
      await unary(Auth.method.roleAdd, { name: 'lcm' }, options)
      const perm = { permType: READ_AND_WRITE, key: bytes(user.prefix), rangeEnd: bytes(`${user.prefix}\uffff`) }
      await unary(Auth.method.roleGrantPermission, { name: 'lcm', perm }, options)
      await unary(Auth.method.userGrantRole, { user: user.name, role: 'lcm' }, options)
      await unary(Auth.method.authEnable, {}, options)
    },
  }
}
