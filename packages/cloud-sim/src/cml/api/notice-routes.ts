import { CmlRefusal, DONE, OK } from '../http-messages.ts'
import { type Check, flag, jsonBody, listOf, object, oneOf, text } from '../input-checks.ts'
import type { UserCall } from '../server-context.ts'
import { type CmlNotice, NOTICE_LEVELS } from '../server-state.ts'
import { admin, type Route, user } from './route.ts'

type Level = CmlNotice['level']

const groups = listOf(text(36))
const newNotice = object<
  { level: Level; label: string },
  { content: string; enabled: boolean; groups: readonly string[] }
>({ level: oneOf(...NOTICE_LEVELS), label: text(128) }, { content: text(8192), enabled: flag, groups })

interface NoticeUpdate {
  readonly level: Level
  readonly label: string
  readonly content: string
  readonly enabled: boolean
  readonly add_groups: readonly string[]
  readonly del_groups: readonly string[]
  readonly acknowledged: Readonly<Record<string, boolean>>
}

const acknowledgments: Check<Readonly<Record<string, boolean>>> = (value, at, problems) => {
  const isMap =
    typeof value === 'object' && value !== null && Object.values(value).every(one => typeof one === 'boolean')
  if (!isMap) problems.push({ location: at, type: 'dict_type', message: 'Input should be a dictionary of booleans' })
}

const noticeUpdate = object<object, NoticeUpdate>(
  {},
  {
    level: oneOf(...NOTICE_LEVELS),
    label: text(128),
    content: text(8192),
    enabled: flag,
    add_groups: groups,
    del_groups: groups,
    acknowledged: acknowledgments,
  },
)

/** The activation time is optional and left out, because the official client fails on it. */
export const noticeView = ({ activated_ms: _since, ...notice }: CmlNotice) => ({ ...notice, groups: [] })

function noticeOf({ context, params }: UserCall): CmlNotice {
  const found = context.server.notices.find(({ id }) => id === params.notice_id)
  if (!found) throw new CmlRefusal(404, `Notice not found: ${params.notice_id}`)
  return found
}

function created({ context, request }: UserCall) {
  const { level, label, content = '', enabled = false } = jsonBody(request.body, newNotice)
  const { server, nowMs } = context
  const notice: CmlNotice = {
    id: context.uuid('notice', server.notices_made),
    level,
    label,
    content,
    enabled,
    activated_ms: enabled ? nowMs : null,
    acknowledged: {},
  }
  const notices = [...server.notices, notice]
  return {
    ...OK(noticeView(notice)),
    change: { server: { ...server, notices, notices_made: server.notices_made + 1 }, events: [changed(notice, nowMs)] },
  }
}

const changed = ({ id, enabled }: CmlNotice, at_ms: number) => ({
  category: 'notice_state_change',
  at_ms,
  data: { notice_id: id, enabled },
})

function updated(call: UserCall) {
  const { server, nowMs } = call.context
  const before = noticeOf(call)
  const { acknowledged = {}, add_groups: _more, del_groups: _less, ...rest } = jsonBody(call.request.body, noticeUpdate)
  const isNew = rest.enabled === true && !before.enabled
  const notice: CmlNotice = {
    ...before,
    ...rest,
    activated_ms: isNew ? nowMs : before.activated_ms,
    acknowledged: { ...before.acknowledged, ...acknowledged },
  }
  const notices = server.notices.map(one => (one.id === notice.id ? notice : one))
  return { ...OK(noticeView(notice)), change: { server: { ...server, notices }, events: [changed(notice, nowMs)] } }
}

function deleted(call: UserCall) {
  const { id } = noticeOf(call)
  const { server } = call.context
  return { ...DONE, change: { server: { ...server, notices: server.notices.filter(one => one.id !== id) } } }
}

export const NOTICE_ROUTES: readonly Route[] = [
  user('GET /system/notices', ({ context }) => OK(context.server.notices.map(noticeView))),
  admin('POST /system/notices', created),
  user('GET /system/notices/:notice_id', call => OK(noticeView(noticeOf(call)))),
  user('PATCH /system/notices/:notice_id', updated),
  admin('DELETE /system/notices/:notice_id', deleted),
]
