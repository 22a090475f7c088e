import { CreateDefinition, PutDefinition } from '@lcm/contract/definition'
import type { EventEnvelope } from '@lcm/contract/events'
import { type ProblemCode, ProblemError } from '@lcm/contract/problems'
import type { AnswerOf } from '@lcm/contract/routes'
import { CreateSession } from '@lcm/contract/session'
import { type LabletDefinition, nextPatch } from '@lcm/domain/definition/lablet-definition'
import { toInstant, toMs } from '@lcm/domain/instant'
import { LAB_ACTIONS, type LabAction, type LabRecord } from '@lcm/domain/lab/lab-record'
import { textReason } from '@lcm/domain/reason'
import { isFinal, type LabletSession } from '@lcm/domain/session/lablet-session'
import { retryOf } from '@lcm/domain/session/retry'
import { aDefinition, aSession, START_MS } from './samples.ts'

interface Document {
  readonly id: string
  readonly version: number
}

/** Documents of one kind; whatever is done to them is told. */
export interface Shelf<T extends Document> {
  all(): T[]
  get(id: string): T | undefined
  put(item: T): void
  /** A new version, with its event. */
  change(id: string, changes: Partial<T>): T
  remove(id: string): void
}

export interface Lablets {
  readonly definitions: Shelf<LabletDefinition>
  readonly sessions: Shelf<LabletSession>
  readonly labs: Shelf<LabRecord>
  preview: AnswerOf<'previewPlacement'>
}

type Tell = (event: EventEnvelope) => void
type Kind = 'definition' | 'session' | 'lab'

const AT = toInstant(START_MS)

function shelf<T extends Document>(
  kind: Kind,
  asEvent: (item: T, verb: 'created' | 'updated') => EventEnvelope,
  tell: Tell,
) {
  const items = new Map<string, T>()
  const found = (id: string): T => items.get(id) ?? refuse('not_found', `there is no ${kind} ${id}`)
  const write = (item: T, verb: 'created' | 'updated'): T => {
    items.set(item.id, item)
    tell(asEvent(item, verb))
    return item
  }
  return {
    all: () => [...items.values()],
    get: (id: string) => items.get(id),
    put: (item: T) => void write(item, 'created'),
    change: (id: string, changes: Partial<T>) =>
      write({ ...found(id), ...changes, version: found(id).version + 1 }, 'updated'),
    remove(id: string) {
      const { version } = found(id)
      items.delete(id)
      tell({ type: `${kind}.deleted`, id, version: version + 1, at: AT, data: null })
    },
  }
}

const envelope = <T extends Document>(item: T) => ({ id: item.id, version: item.version, at: AT })

export const fakeLablets = (tell: Tell): Lablets => ({
  definitions: shelf<LabletDefinition>(
    'definition',
    (item, verb) => ({ ...envelope(item), type: `definition.${verb}`, data: summaryOf(item) }),
    tell,
  ),
  sessions: shelf<LabletSession>(
    'session',
    (item, verb) => ({ ...envelope(item), type: `session.${verb}`, data: item }),
    tell,
  ),
  labs: shelf<LabRecord>('lab', (item, verb) => ({ ...envelope(item), type: `lab.${verb}`, data: item }), tell),
  preview: { candidates: [], refusals: [], outcome: 'wait', because: textReason('nobody has room') },
})

function refuse(code: ProblemCode, detail: string): never {
  throw new ProblemError(code, detail)
}

function summaryOf({ topology: _, ...summary }: LabletDefinition): Omit<LabletDefinition, 'topology'> {
  return summary
}

export interface Asked {
  readonly method: string
  /** Such as `/lablet-sessions/ls-1/extend`. */
  readonly path: string
  readonly query: URLSearchParams
  readonly body: string | null
}

export type Answer =
  | { readonly status: number; readonly list: readonly unknown[] }
  | { readonly status: number; readonly body: unknown }

/** The part of the API that is about definitions, sessions and labs; null for the rest of it. */
export function answerLablets(lablets: Lablets, asked: Asked): Answer | null {
  const [, kind, id, verb] = asked.path.split('/')
  const part: Part = { ...asked, id: id ?? '', verb: verb ?? '' }
  if (kind === 'lablet-definitions') return ofDefinitions(lablets, part)
  if (kind === 'lablet-sessions') return ofSessions(lablets, part)
  return kind === 'lab-records' ? ofLabs(lablets, part) : null
}

interface Part extends Asked {
  readonly id: string
  readonly verb: string
}

const ok = (status: number, body: unknown): Answer => ({ status, body })
const list = (items: readonly unknown[]): Answer => ({ status: 200, list: items })
const has = <T>(item: T | undefined, noun: string, id: string): T => item ?? refuse('not_found', `no ${noun} ${id}`)

function ofDefinitions({ definitions, sessions, preview }: Lablets, { method, id, verb, query, body }: Part): Answer {
  if (id === '' && method === 'GET') {
    const name = query.get('name')
    return list(
      definitions
        .all()
        .filter(each => name === null || each.name === name)
        .map(summaryOf),
    )
  }
  if (id === '') return ok(201, createDefinition(definitions, body))
  const definition = has(definitions.get(id), 'definition', id)
  if (verb === 'placement-preview') return ok(200, preview)
  if (verb === 'sync') {
    if (definition.source === 'inline') refuse('source_inline', `${definition.name} was given inline`)
    return ok(202, definitions.change(id, { sync: { ...definition.sync, status: 'requested' } }))
  }
  if (verb === 'deprecate') return ok(202, definitions.change(id, { status: 'DEPRECATED' }))
  const given = { title: true, needs: false, port_template: false, cml_min: false }
  if (method === 'GET') return ok(200, { ...definition, graph: null, given })
  if (method === 'PUT') return ok(200, putDefinition(definitions, definition, body))
  if (sessions.all().some(each => each.definition.id === id && !isFinal(each.status)))
    refuse('definition_in_use', `a session needs ${definition.name}`)
  definitions.remove(id)
  return ok(204, null)
}

function putDefinition(
  definitions: Lablets['definitions'],
  current: LabletDefinition,
  body: string | null,
): LabletDefinition {
  const { topology = current.topology, needs, port_template, ...changes } = PutDefinition.parse(JSON.parse(body ?? ''))
  const said = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined))
  if (current.status === 'DEPRECATED') refuse('definition_deprecated', `${current.name} is DEPRECATED`)
  const kept = { needs: needs ?? current.needs, port_template: port_template ?? current.port_template }
  const definition_version = nextPatch(current.definition_version)
  const next = { ...current, ...said, ...kept, topology, definition_version, id: 'ld-2', version: 1 }
  definitions.put(next)
  return next
}

/** `broken` stands for YAML that is no lab. */
function createDefinition(definitions: Lablets['definitions'], body: string | null): LabletDefinition {
  const { topology = null, ...said } = CreateDefinition.parse(JSON.parse(body ?? ''))
  if (topology === 'broken')
    throw new ProblemError('topology_invalid', 'line 3: nodes.0: no label (and 1 more)', [
      { path: 'body.topology.nodes.0', message: 'no label', line: 3 },
      { path: 'body.topology', message: 'no links', line: 9 },
    ])
  if (definitions.all().some(each => each.name === said.name)) refuse('already_exists', `there is a ${said.name}`)
  const definition = aDefinition({ ...said, id: 'ld-9', topology, needs: aDefinition().needs, port_template: [] })
  definitions.put(definition)
  return definition
}

function ofSessions({ definitions, sessions }: Lablets, { method, id, verb, query, body }: Part): Answer {
  if (id === '' && method === 'GET')
    return list(sessions.all().filter(each => query.get('include_finished') === 'true' || !isFinal(each.status)))
  if (id === '') return ok(201, createSession({ definitions, sessions }, body))
  const session = has(sessions.get(id), 'session', id)
  if (verb === 'extend') return ok(202, extend(sessions, session, JSON.parse(body ?? '')))
  if (verb === 'retry') {
    const retry = retryOf(session, AT)
    if (retry.kind === 'refused') refuse('session_wrong_state', retry.because.message)
    return ok(202, retry.kind === 'try' ? sessions.change(id, retry.changes) : session)
  }
  if (verb === 'requeue') {
    if (session.status !== 'SCHEDULED') refuse('session_wrong_state', `it is ${session.status}`)
    return ok(202, sessions.change(id, { status: 'PENDING', worker_id: null }))
  }
  if (method === 'GET') return ok(200, session)
  return ok(202, isFinal(session.status) ? session : sessions.change(id, { desired_status: 'TERMINATED' }))
}

function createSession(
  { definitions, sessions }: Pick<Lablets, 'definitions' | 'sessions'>,
  body: string | null,
): LabletSession {
  const { definition: wanted, start = AT, duration_minutes = 60 } = CreateSession.parse(JSON.parse(body ?? ''))
  const found = definitions.all().find(each => each.id === wanted || each.name === wanted)
  if (found === undefined) throw new ProblemError('definition_not_found', `there is no definition ${wanted}`)
  const { id, name, definition_version: version, status } = found
  if (status !== 'ACTIVE') refuse('definition_not_active', `${name} ${version} is ${status}`)
  const end = toInstant(toMs(start) + duration_minutes * 60_000)
  const session = aSession({ id: 'ls-9', definition: { id, name, version }, timeslot: { start, end } })
  sessions.put(session)
  return session
}

function extend(sessions: Lablets['sessions'], session: LabletSession, { minutes }: { minutes: number }) {
  if (isFinal(session.status)) refuse('session_over', `it is ${session.status}`)
  const { start, end } = session.timeslot
  return sessions.change(session.id, { timeslot: { start, end: toInstant(toMs(end) + minutes * 60_000) } })
}

function ofLabs({ labs }: Lablets, { id, verb, query }: Part): Answer {
  if (id === '')
    return list(labs.all().filter(each => query.get('include_deleted') === 'true' || each.status !== 'DELETED'))
  const lab = has(labs.get(id), 'lab', id)
  if (!isAction(verb)) return ok(200, lab)
  if (lab.session_id !== null) refuse('lab_in_use', `session ${lab.session_id} uses ${lab.title}`)
  return ok(202, labs.change(id, { pending_action: { action: verb, by: 'ann', at: AT, attempts: 0, error: null } }))
}

const isAction = (verb: string): verb is LabAction => LAB_ACTIONS.some(action => action === verb)
