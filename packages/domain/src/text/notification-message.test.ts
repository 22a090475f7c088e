import { aServingWorker, aSession } from '@lcm/testkit/test-data-builders'
import { describe, expect, it } from 'vitest'
import { LicenseLeak } from '../fleet/license-leak.ts'
import { degraded, down } from '../health.ts'
import { toMs } from '../instant.ts'
import {
  type Notice,
  type NotifiedWarning,
  observedLeak,
  observedSession,
  observedWarning,
  observedWorker,
} from '../notification/notice.ts'
import type { NotificationKind } from '../notification/notification-target.ts'
import { type Reason, reason, textReason } from '../reason.ts'
import type { LabletSession } from '../session/lablet-session.ts'
import { unschedulable } from '../session/unschedulable-reason.ts'
import { emailText, slackBody } from './notification-formats.ts'
import { notificationMessage } from './notification-message.ts'
import { MESSAGES } from './testing/notification-messages.ts'

const AT = '2026-01-02T09:00:00.000Z'
const context = { publicUrl: 'https://lcm.example.com/', nowMs: toMs(AT) }
const slot = { start: AT, end: '2026-01-02T11:00:00.000Z' }
const ready = { from: 'INSTANTIATING', to: 'READY', at: AT, because: reason('lab_ready') } as const
const stopped = reason('lab_down', { worker: 'metal-1', status: 'STOPPED', restarting: true })
const gone = reason('worker_status', { worker: 'metal-1', status: 'TERMINATED' })
const move = { from: 'RUNNING', to: 'PENDING', at: AT, because: reason('session_moved', { cause: gone }) } as const
const limit = reason('region_worker_limit', { region: 'us-east-1', limit: 2 })

const EXAMPLES: Partial<Record<NotificationKind, Partial<LabletSession>>> = {
  session_ready: { status: 'READY', state_history: [ready] },
  session_at_risk: {
    status: 'PENDING',
    admission: {
      ...aSession().admission,
      kind: 'admitted',
      at_risk: reason('capacity_lost', { since: AT, cause: textReason('no template is enabled') }),
    },
  },
  session_degraded: {
    status: 'RUNNING',
    health: degraded(reason('lab_state_unknown', { worker: 'metal-1', status: 'RUNNING' }), AT),
  },
  session_down: { status: 'RUNNING', health: down(stopped, AT) },
  session_moved: {
    status: 'PENDING',
    state_history: [ready, move],
    health: down(reason('session_starts_elsewhere'), AT),
  },
  session_lost: {
    status: 'STOPPING',
    state_history: [ready, { from: 'RUNNING', to: 'STOPPING', at: AT, because: gone }],
  },
  session_ends_soon: { status: 'RUNNING' },
  capacity_short: { status: 'PENDING', waiting_reason: limit, health: down(limit, AT) },
}

function noticesOf(kind: NotificationKind, more: Partial<LabletSession> = {}): Notice[] {
  const session = aSession({ timeslot: slot, ...EXAMPLES[kind], ...more })
  return observedSession(session, 'OSPF basics').notices.filter(notice => notice.kind === kind)
}

const textOf = (
  kind: NotificationKind,
  notices: readonly Notice[],
  owner: string | null = null,
  is_resolved = false,
) => {
  const { title, lines, link } = notificationMessage({ owner, kind, is_resolved, notices }, context)
  return [title, ...lines, link].join('\n')
}

const expectMessage = (text: string, name: string) => expect(text).toBe(MESSAGES[name])

describe('a message', () => {
  it.each(Object.keys(EXAMPLES) as NotificationKind[])('about %s', kind => {
    const one = noticesOf(kind)
    const class_ = ['Ann', 'Bob', 'Eve'].flatMap((owner_name, n) => noticesOf(kind, { id: `ls-${n}`, owner_name }))
    expect([one.length, class_.length]).toEqual([1, 3])
    expectMessage([textOf(kind, one, 'ann'), textOf(kind, one), textOf(kind, class_)].join('\n\n'), `about ${kind}`)
  })

  it('about workers', () => {
    const failed = (name: string) =>
      observedWorker({ ...aServingWorker({ id: `w-${name}`, name }), status: 'FAILED' }).notices
    const one = failed('metal-1')
    const two = [...one, ...failed('metal-2')]
    const texts = [textOf('worker_failed', one), textOf('worker_failed', two), textOf('worker_failed', one, null, true)]
    expectMessage(texts.join('\n\n'), 'about workers')
  })

  it('about licenses', () => {
    const leak = LicenseLeak.parse({
      id: 'll-1',
      version: 1,
      created_at: AT,
      updated_at: AT,
      worker_id: 'w-1',
      worker_name: 'metal-1',
      udi: null,
      hostname: null,
      product: null,
      at: AT,
      reason: textReason('its machine was terminated outside LCM'),
      resolved_at: null,
      resolved_by: null,
    })
    const one = observedLeak(leak).notices
    const two = [...one, ...observedLeak({ ...leak, id: 'll-2', worker_name: 'metal-2' }).notices]
    expectMessage(`${textOf('license_leak', one)}\n\n${textOf('license_leak', two)}`, 'about licenses')
  })

  it('about warnings', () => {
    const used = { period: 'day', date: '2026-01-02', limit: 100, spent_usd: 60, committed_usd: 30 } as const
    const warn = (kind: NotifiedWarning['kind'], because: Reason, is_critical: boolean, isOver = false) => {
      const fix = reason('fix_budget', { period: 'day' })
      const warning: NotifiedWarning = { id: 'budget:day', kind, is_critical, reason: because, fix }
      return textOf(kind, observedWarning('budget:day', warning, AT).notices, null, isOver)
    }
    const short = reason('budget_short', used)
    const ahead = reason('workers_short_ahead', { at: AT, needed: 12, limit: 10, sessions: 8 })
    const texts = [
      warn('budget', short, false),
      warn('budget', reason('budget_used_up', used), true),
      warn('budget', short, false, true),
      warn('capacity_ahead', ahead, true),
      warn('capacity_ahead', ahead, true, true),
    ]
    expectMessage(texts.join('\n\n'), 'about warnings')
  })

  it('about what is over', () => {
    const resolved = (kind: NotificationKind, count: number, owner: string | null = null) =>
      textOf(kind, Array.from({ length: count }, (_, n) => noticesOf(kind, { id: `ls-${n}` })).flat(), owner, true)
    const texts = [1, 20].flatMap(count => [resolved('session_down', count), resolved('capacity_short', count)])
    expectMessage(
      [
        ...texts,
        resolved('session_down', 1, 'ann'),
        resolved('capacity_short', 1, 'ann'),
        resolved('session_at_risk', 1, 'ann'),
        resolved('session_at_risk', 20),
      ].join('\n\n'),
      'about what is over',
    )
  })

  it('says when a lab is ready again on another server', () => {
    const again = noticesOf('session_ready', {
      state_history: [ready, move, { ...ready, at: '2026-01-02T09:10:00.000Z' }],
    })
    expectMessage(textOf('session_ready', again, 'ann'), 'says when a lab is ready again on another server')
  })

  it('says when a lab never started', () => {
    const end = { from: 'PENDING', to: 'EXPIRED', at: AT, because: reason('timeslot_over') } as const
    const lost = noticesOf('session_lost', { status: 'EXPIRED', state_history: [end] })
    expectMessage(textOf('session_lost', lost, 'ann'), 'says when a lab never started')
  })

  it('names the day of another day', () => {
    const late = noticesOf('session_ready', { timeslot: { start: AT, end: '2026-01-03T01:30:00.000Z' } })
    expect(textOf('session_ready', late, 'ann')).toContain('is ready until 01:30 UTC on Jan 3')
  })

  it('shortens a long list and says so', () => {
    const many = Array.from({ length: 60 }, (_, n) => noticesOf('session_down', { id: `ls-${n}` })).flat()
    expect(textOf('session_down', many)).toContain('\nand 10 more\n')
  })

  it('to an owner whose lab fits on no machine', () => {
    const never = unschedulable(reason('no_workers'))
    const notices = noticesOf('capacity_short', { waiting_reason: never, health: down(never, AT) })
    expectMessage(textOf('capacity_short', notices, 'ann'), 'to an owner whose lab fits on no machine')
  })

  it.each([
    ['was stopped on CML', 'RUNNING', reason('lab_stopped_on_cml', { state: 'STOPPED' })],
    ['is late', 'INSTANTIATING', reason('lab_start_late', { step: 'start', error: null })],
  ] as const)('to an owner whose lab %s', (what, status, because) => {
    const notices = noticesOf('session_degraded', { status, health: degraded(because, AT) })
    expectMessage(textOf('session_degraded', notices, 'ann'), `to an owner whose lab ${what}`)
  })

  it('to an owner has no command and names no other person', () => {
    for (const kind of Object.keys(EXAMPLES) as NotificationKind[]) {
      const text = textOf(kind, noticesOf(kind), 'ann')
      expect(text, kind).not.toMatch(/`|max_workers|limit|Ann/)
    }
  })
})

it('has no markup and no line breaks of the names in it', () => {
  const owner_name = '<!channel> @all *Ann*\r\nBcc: eve@example.com'
  const notices = noticesOf('session_ready', { owner_name })
  const message = notificationMessage({ owner: null, kind: 'session_ready', is_resolved: false, notices }, context)
  expect(message.title).toBe('Lab OSPF basics of <!channel> @all *Ann* Bcc: eve@example.com is ready until 11:00 UTC')
  expect(slackBody(message)).toEqual({
    text:
      'Lab OSPF basics of &lt;!channel&gt; @\u200ball *Ann* Bcc: eve@example.com is ready until 11:00 UTC\n' +
      '<https://lcm.example.com/#/sessions/ls-1|Open in LCM>',
    mrkdwn: false,
  })
  const { subject, html } = emailText(message)
  expect(subject).not.toMatch(/[\r\n]/)
  expect(html).toContain('&lt;!channel&gt;')
  expect(html).not.toContain('<!')
})
