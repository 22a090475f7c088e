import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from '@bufbuild/protobuf'
import type { Clock, Logger } from '@lcm/runtime'
import { Auth } from '../generated/etcd_pb.ts'
import { type AuthTokenCache, authTokenCache, noAuthToken } from './auth-token-cache.ts'
import { type Connection, type EtcdTls, openConnection } from './connection.ts'
import type { Endpoint } from './endpoint.ts'
import { EtcdError, type EtcdErrorCode, isEtcdError } from './errors.ts'
import type { CallKind, HealthTracker } from './health-tracker.ts'
import { type RoundRobin, roundRobin } from './round-robin.ts'

export interface EtcdAuth {
  readonly user: string
  readonly password: string
}

export interface MembersOptions {
  readonly endpoints: readonly Endpoint[]
  readonly clock: Clock
  readonly logger: Logger
  readonly health: HealthTracker
  readonly tls?: EtcdTls | undefined
  readonly auth?: EtcdAuth | undefined
}

/**
 * Members of one cluster, one connection each: gRPC's balancing supports one kind of name per channel, checks every
 * certificate against one name, can't switch on purpose and doesn't report which member responded.
 */
export interface Members {
  readonly all: readonly Connection[]
  readonly rotation: RoundRobin<Connection>
  readonly health: HealthTracker
  readonly clock: Clock
  readonly token: AuthTokenCache
  close(): void
}

export interface MemberCall<I extends DescMessage, O extends DescMessage> {
  readonly method: DescMethodUnary<I, O>
  readonly request: MessageInitShape<I>
  readonly kind: CallKind
  /** For one attempt. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

/** Errors that concern the member rather than the call. */
const MEMBER_ERRORS: readonly EtcdErrorCode[] = ['etcd_unreachable', 'etcd_untrusted', 'etcd_slow', 'etcd_no_leader']
const AUTHENTICATE_TIMEOUT_MS = 5_000

export function openMembers({ endpoints, clock, logger, health: book, tls, auth }: MembersOptions): Members {
  const all = endpoints.map(endpoint => openConnection(endpoint, clock, tls))
  const circle = roundRobin(all)
  const close = () => {
    for (const member of all) member.close()
  }
  const anonymous: Members = { all, rotation: circle, health: book, clock, token: noAuthToken, close }
  if (auth === undefined) return anonymous
  return { ...anonymous, token: authTokenCache(clock, () => authenticate(anonymous, auth, logger)) }
}

async function authenticate(members: Members, { user, password }: EtcdAuth, logger: Logger): Promise<string> {
  try {
    const request = { name: user, password }
    const timeoutMs = AUTHENTICATE_TIMEOUT_MS
    const { token } = await callAnyMember(members, {
      method: Auth.method.authenticate,
      request,
      kind: 'read',
      timeoutMs,
    })
    return token
  } catch (error) {
    if (!(error instanceof Error && error.message.includes('authentication is not enabled'))) throw error
    logger.warn({ user }, 'etcd has authentication disabled, though a user is configured')
    return ''
  }
}

/** Tries one member after the other. Every call may run twice: each detects that it was already done. */
export async function callAnyMember<I extends DescMessage, O extends DescMessage>(
  members: Members,
  call: MemberCall<I, O>,
): Promise<MessageShape<O>> {
  const attemptsMax = members.all.length + 1
  for (let attempt = 1; ; attempt += 1) {
    const token = await members.token.current()
    const member = members.rotation.next()
    try {
      const answer = await callMember(members, member, call, token)
      members.health.done(call.kind)
      return answer
    } catch (error) {
      if (attempt < attemptsMax && canRetry(members, error, token)) continue
      if (error instanceof EtcdError) members.health.failed(call.kind, error)
      throw error
    }
  }
}

export async function callMember<I extends DescMessage, O extends DescMessage>(
  members: Members,
  member: Connection,
  { method, request, timeoutMs, signal }: MemberCall<I, O>,
  token: string | undefined,
): Promise<MessageShape<O>> {
  try {
    const answer = await member.unary(method, request, { timeoutMs, token, signal })
    noteSuccess(members, member)
    return answer
  } catch (error) {
    noteFailure(members, member, error)
    throw error
  }
}

export function noteSuccess({ rotation, health: book }: Members, member: Connection): void {
  rotation.markUp(member)
  book.answered(member.endpoint)
}

export function noteFailure({ rotation, health: book }: Members, member: Connection, error: unknown): void {
  if (!(error instanceof EtcdError) || !MEMBER_ERRORS.includes(error.code)) return
  rotation.markDown(member)
  book.missed(error)
}

/** A slow single member would only be slow again. */
function canRetry({ all, token }: Members, error: unknown, refused: string | undefined): boolean {
  if (isEtcdError(error, 'etcd_slow')) return all.length > 1
  if (isEtcdError(error, 'etcd_bad_credentials')) return token.drop(refused)
  return isEtcdError(error, ...MEMBER_ERRORS)
}
