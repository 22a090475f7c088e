import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from '@bufbuild/protobuf'
import type { Clock, Logger } from '@lcm/runtime'
import { type TokenKeeper, tokenKeeper, withoutToken } from '../change-keys/token.ts'
import { Auth } from '../generated/etcd_pb.ts'
import { type Connection, type EtcdTls, openConnection } from './connection.ts'
import type { Endpoint } from './endpoint.ts'
import type { Asked, HealthBook } from './health.ts'
import { EtcdError, type EtcdProblemCode, isProblem } from './problem.ts'
import { type Rotation, rotation } from './rotation.ts'

export interface EtcdAuth {
  readonly user: string
  readonly password: string
}

export interface MembersOptions {
  readonly endpoints: readonly Endpoint[]
  readonly clock: Clock
  readonly logger: Logger
  readonly book: HealthBook
  readonly tls?: EtcdTls | undefined
  readonly auth?: EtcdAuth | undefined
}

/**
 * The members of one cluster, one connection each: gRPC's own balancing takes one kind of name per channel and checks every
 * certificate against one name, and it neither hops on purpose nor says who answered.
 */
export interface Members {
  readonly all: readonly Connection[]
  readonly rotation: Rotation<Connection>
  readonly book: HealthBook
  readonly clock: Clock
  readonly token: TokenKeeper
  close(): void
}

export interface Question<I extends DescMessage, O extends DescMessage> {
  readonly method: DescMethodUnary<I, O>
  readonly request: MessageInitShape<I>
  readonly asked: Asked
  /** For one attempt. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

/** What says more about the member that was asked than about the question. */
const OF_ONE_MEMBER: readonly EtcdProblemCode[] = ['etcd_unreachable', 'etcd_untrusted', 'etcd_slow', 'etcd_no_leader']
const AUTHENTICATE_TIMEOUT_MS = 5_000

export function openMembers({ endpoints, clock, logger, book, tls, auth }: MembersOptions): Members {
  const all = endpoints.map(endpoint => openConnection(endpoint, clock, tls))
  const circle = rotation(all)
  const close = () => {
    for (const member of all) member.close()
  }
  const anonymous: Members = { all, rotation: circle, book, clock, token: withoutToken, close }
  if (auth === undefined) return anonymous
  return { ...anonymous, token: tokenKeeper(clock, () => authenticate(anonymous, auth, logger)) }
}

async function authenticate(members: Members, { user, password }: EtcdAuth, logger: Logger): Promise<string> {
  try {
    const request = { name: user, password }
    const timeoutMs = AUTHENTICATE_TIMEOUT_MS
    const { token } = await ask(members, { method: Auth.method.authenticate, request, asked: 'read', timeoutMs })
    return token
  } catch (error) {
    if (!(error instanceof Error && error.message.includes('authentication is not enabled'))) throw error
    logger.warn({ user }, 'etcd asks for no user: authentication is not enabled there, though a user is configured')
    return ''
  }
}

/** Asks one member after the other. Every question of ours may be asked twice: each finds out that it was answered already. */
export async function ask<I extends DescMessage, O extends DescMessage>(
  members: Members,
  question: Question<I, O>,
): Promise<MessageShape<O>> {
  const attemptsMax = members.all.length + 1
  for (let attempt = 1; ; attempt += 1) {
    const token = await members.token.current()
    const member = members.rotation.next()
    try {
      const answer = await askMember(members, member, question, token)
      members.book.done(question.asked)
      return answer
    } catch (error) {
      if (attempt < attemptsMax && mayRepeat(members, error, token)) continue
      if (error instanceof EtcdError) members.book.failed(question.asked, error)
      throw error
    }
  }
}

export async function askMember<I extends DescMessage, O extends DescMessage>(
  members: Members,
  member: Connection,
  { method, request, timeoutMs, signal }: Question<I, O>,
  token: string | undefined,
): Promise<MessageShape<O>> {
  try {
    const answer = await member.unary(method, request, { timeoutMs, token, signal })
    noteAnswer(members, member)
    return answer
  } catch (error) {
    noteMiss(members, member, error)
    throw error
  }
}

export function noteAnswer({ rotation, book }: Members, member: Connection): void {
  rotation.trust(member)
  book.answered(member.endpoint)
}

export function noteMiss({ rotation, book }: Members, member: Connection, error: unknown): void {
  if (!(error instanceof EtcdError) || !OF_ONE_MEMBER.includes(error.code)) return
  rotation.suspect(member)
  book.missed(error)
}

/** A lone member that took its time would only take it again. */
function mayRepeat({ all, token }: Members, error: unknown, refused: string | undefined): boolean {
  if (isProblem(error, 'etcd_slow')) return all.length > 1
  if (isProblem(error, 'etcd_bad_credentials')) return token.drop(refused)
  return isProblem(error, ...OF_ONE_MEMBER)
}
