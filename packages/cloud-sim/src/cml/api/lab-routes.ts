import { CmlRefusal, DONE, OK } from '../http-messages.ts'
import { anyObject, type Check, checked, jsonBody, listOf, object, queryFlag, text } from '../input-checks.ts'
import { emptyLab, labFrom } from '../labs/create-lab.ts'
import type { CmlLab, LabNode } from '../labs/lab.ts'
import { labStateAt } from '../labs/lab-element-states.ts'
import { type PowerChange, startNodes, stopNodes, wipeNodes } from '../labs/lab-power.ts'
import { labView, topologyFile } from '../labs/lab-views.ts'
import { topologyIn } from '../labs/topology.ts'
import type { CmlChange, CmlServerContext, Outcome, UserCall } from '../server-context.ts'
import type { CmlUser } from '../server-state.ts'
import { nodeEvents } from '../telemetry-events.ts'
import { theLab } from './find-lab-elements.ts'
import { type Route, user } from './route.ts'

interface LabMembers {
  readonly title: string
  readonly description: string
  readonly notes: string
  readonly owner: string
  readonly groups: readonly object[]
  readonly associations: object
}

const labMembers: Check<Partial<LabMembers>> = object<object, LabMembers>(
  {},
  {
    title: text(64),
    description: text(4096),
    notes: text(32_768),
    owner: text(36),
    groups: listOf(anyObject),
    associations: anyObject,
  },
)

/** Change that adds a lab to the server. */
function added({ server }: CmlServerContext, lab: CmlLab): CmlChange {
  return { server: { ...server, lab_ids: [...server.lab_ids, lab.id], labs_made: server.labs_made + 1 }, labs: [lab] }
}

function named(context: CmlServerContext, lab: CmlLab, given: Partial<LabMembers>): CmlLab {
  const { title = lab.title, description = lab.description, notes = lab.notes, owner = lab.owner } = given
  if (!context.server.users.some(({ id }) => id === owner)) throw new CmlRefusal(400, `User not found: ${owner}`)
  return { ...lab, title, description, notes, owner, modified_ms: context.nowMs }
}

function created({ context, user: self, request }: UserCall): Outcome {
  const given = request.body === '' ? {} : jsonBody(request.body, labMembers)
  const lab = named(context, emptyLab(context, self, null), given)
  return { ...OK(labView(context, lab)), change: added(context, lab) }
}

function patched(call: UserCall): Outcome {
  const lab = named(call.context, theLab(call), jsonBody(call.request.body, labMembers))
  return { ...OK(labView(call.context, lab)), change: { labs: [lab] } }
}

interface LabSource {
  readonly source: string
  readonly title: string | null
}

/** Creates a lab of that user from the text of a topology. */
export function importInto(context: CmlServerContext, owner: CmlUser, { source, title }: LabSource) {
  const topology = topologyIn(source, context.version.minor)
  const { lab, warnings } = labFrom(context, owner, { topology, title })
  const event = { category: 'import_lab', at_ms: context.nowMs, data: { lab_id: lab.id, user_id: owner.id } }
  const change: CmlChange = { ...added(context, lab), events: [event] }
  return { lab, warnings, change }
}

function imported({ context, user: self, request }: UserCall): Outcome {
  const title = request.query.get('title') || null
  if (title !== null) checked(title, text(64), ['query', 'title'])
  const { lab, warnings, change } = importInto(context, self, { source: request.body, title })
  return { ...OK({ id: lab.id, warnings: warnings.length > 0 ? warnings : null }), change }
}

/** Copies node events to the telemetry, since the lab takes them with it. */
function deleted(call: UserCall): Outcome {
  const { context } = call
  const lab = theLab(call)
  if (labStateAt(lab, context.nowMs) !== 'DEFINED_ON_CORE') {
    throw new CmlRefusal(400, `Lab ${lab.id} must be stopped and wiped before it can be deleted.`)
  }
  const lab_ids = context.server.lab_ids.filter(id => id !== lab.id)
  return {
    ...DONE,
    change: {
      server: { ...context.server, lab_ids },
      removed_lab_id: lab.id,
      events: nodeEvents(lab, context.nowMs),
    },
  }
}

type Act = (context: CmlServerContext, lab: CmlLab, chosen: (node: LabNode) => boolean) => PowerChange

interface Powering {
  readonly call: UserCall
  readonly lab: CmlLab
  /** Telemetry category, if there is one. */
  readonly category: string | null
}

/** Change of a start, stop or wipe. Freed capacity may start queued nodes of other labs too. */
export function powered({ call, lab, category }: Powering, change: PowerChange): CmlChange {
  const { server, nowMs } = call.context
  if (change.labs.length === 0) return {}
  const data = { lab_id: lab.id, user_id: call.user.id }
  return {
    labs: change.labs,
    ...(change.launches > 0 ? { server: { ...server, launches_made: server.launches_made + change.launches } } : {}),
    ...(category === null ? {} : { events: [{ category, at_ms: nowMs, data }] }),
  }
}

const whole =
  (act: Act, category: string | null) =>
  (call: UserCall): Outcome => {
    const lab = theLab(call)
    return {
      ...DONE,
      change: powered(
        { call, lab, category },
        act(call.context, lab, () => true),
      ),
    }
  }

function downloaded(call: UserCall): Outcome {
  const found = theLab(call)
  const { context } = call
  const event = { category: 'export_lab', at_ms: context.nowMs, data: { lab_id: found.id, user_id: call.user.id } }
  return { status: 200, text: topologyFile(found), change: { events: [event] } }
}

function listed({ context, request, user: self }: UserCall): Outcome {
  const all = self.admin && queryFlag(request.query, 'show_all') === true
  return OK(context.labs.filter(({ owner }) => all || owner === self.id).map(({ id }) => id))
}

export const LAB_ROUTES: readonly Route[] = [
  user('GET /labs', listed),
  user('POST /labs', created),
  user('POST /import', imported),
  user('GET /labs/:lab_id', call => OK(labView(call.context, theLab(call)))),
  user('PATCH /labs/:lab_id', patched),
  user('DELETE /labs/:lab_id', deleted),
  user('PUT /labs/:lab_id/start', whole(startNodes, 'start_lab')),
  user('PUT /labs/:lab_id/stop', whole(stopNodes, 'stop_lab')),
  user('PUT /labs/:lab_id/wipe', whole(wipeNodes, null)),
  user('GET /labs/:lab_id/download', downloaded),
]
