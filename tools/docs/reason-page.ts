import { ATTENTION_REASONS } from '@lcm/domain/text/reasons/attention-reasons'
import { BUDGET_REASONS } from '@lcm/domain/text/reasons/budget-reasons'
import { CALENDAR_REASONS } from '@lcm/domain/text/reasons/calendar-reasons'
import { REASONS } from '@lcm/domain/text/reasons/catalog'
import { FLEET_REASONS } from '@lcm/domain/text/reasons/fleet-reasons'
import { LAB_REASONS } from '@lcm/domain/text/reasons/lab-reasons'
import { LICENSE_REASONS } from '@lcm/domain/text/reasons/license-reasons'
import { NEXT_REASONS } from '@lcm/domain/text/reasons/next-step-reasons'
import { PLACEMENT_REASONS } from '@lcm/domain/text/reasons/placement-reasons'
import { PLAN_REASONS } from '@lcm/domain/text/reasons/plan-reasons'
import { QUOTA_REASONS } from '@lcm/domain/text/reasons/quota-reasons'
import { SAVE_REASONS } from '@lcm/domain/text/reasons/save-reasons'
import { PROBLEM_REASONS } from '@lcm/domain/text/reasons/service-problem-reasons'
import { SESSION_REASONS } from '@lcm/domain/text/reasons/session-reasons'
import { LAUNCH_REASONS, WORKER_REASONS } from '@lcm/domain/text/reasons/worker-reasons'

export const REASON_PAGE = 'docs/reference/reasons.md'

const INTRODUCTION = `# Reason codes

Every decision, waiting reason, condition and refusal carries a reason as data: \`{ code, message, params }\`. Compare \`code\` and
\`params\`; \`message\` is for people, and its wording may change with any release. A code is never given another meaning.

\`{…}\` stands for a param of that name; where the wording depends on a param, one case is shown. This page is made from the code by
\`npm run docs\`.
`

type Render = (params: never) => string

const SECTIONS: readonly (readonly [string, Readonly<Record<string, Render>>])[] = [
  ['Workers', WORKER_REASONS],
  ['Launches', LAUNCH_REASONS],
  ['Licenses', LICENSE_REASONS],
  ['Sessions', SESSION_REASONS],
  ['Saves', SAVE_REASONS],
  ['Placement and scale-up', PLACEMENT_REASONS],
  ['The plan', PLAN_REASONS],
  ['Labs', LAB_REASONS],
  ['Fleet', FLEET_REASONS],
  ['Budget', BUDGET_REASONS],
  ['Next step of a resource', NEXT_REASONS],
  ['Problems of services', PROBLEM_REASONS],
  ['Quotas', QUOTA_REASONS],
  ['The calendar', CALENDAR_REASONS],
  ['Affected sessions', ATTENTION_REASONS],
  ['General', { text: REASONS.text, not_given: REASONS.not_given, nothing_to_do: REASONS.nothing_to_do }],
]

export const reasonPage = (): string =>
  [INTRODUCTION, ...SECTIONS.map(([title, reasons]) => section(title, reasons))].join('\n')

function section(title: string, reasons: Readonly<Record<string, Render>>): string {
  const rows = Object.entries(reasons).map(([code, render]) => `| \`${code}\` | ${cell(template(code, render))} |`)
  return [`## ${title}\n`, '| code | message |', '|---|---|', ...rows, ''].join('\n')
}

const cell = (text: string): string => text.replaceAll('|', '\\|')

/** The message with `{name}` in place of each param. */
const template = (code: string, render: Render): string => render(placeholders(code) as never)

/** Values for params that a message looks up or computes with: the page shows one case of it. */
const EXAMPLES: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  boot_stage_waiting: { stage: 'CmlReady' },
  boot_progress: { waiting_for: 'CmlReady' },
  license_lost: { license: 'not_returned' },
  worker_lost: { seconds: 600 },
  save_too_large: { size_bytes: 5_242_880, limit_bytes: 4_194_304 },
  lab_restored: { added: ['{added}'] },
  no_template_fits: { causes: [{ message: '{cause}', params: {} }] },
  cml_refuses_on_workers: { part: 'login' },
  insufficient_capacity: { resource: 'nodes' },
  instance_too_young: { seconds: 600 },
  orphan_too_young: { seconds: 600 },
  idle_unknown: { telemetry: 'no_credentials' },
  workers_refuse: { category: 'status' },
  not_idle: { idle_seconds: 600, timeout_seconds: 3600 },
  idle_without_plan: { idle_seconds: 720, boot_seconds: 600 },
  idle_timeout: { idle_seconds: 3720, timeout_seconds: 3600 },
  budget_exceeded: { limit: 50, spent_usd: 40, committed_usd: 8, needed_usd: 4 },
  budget_booked: { period: 'day', date: '2026-06-02', limit: 50, spent_usd: 0, committed_usd: 46.5, needed_usd: 4.25 },
  budget_short: { limit: 50, spent_usd: 40, committed_usd: 2 },
  budget_used_up: { limit: 50, spent_usd: 45, committed_usd: 5 },
  budget_short_ahead: { limit: 50, needed_usd: 64 },
}

const placeholders = (code: string): object =>
  new Proxy({}, { get: (_, name) => EXAMPLES[code]?.[String(name)] ?? placeholder(String(name)) })

/** Renders as `{name}` whatever a message does with it: a text, a number, a list or another reason. */
function placeholder(name: string): unknown {
  const text = `{${name}}`
  const known: Readonly<Record<PropertyKey, unknown>> = {
    [Symbol.toPrimitive]: () => text,
    message: text,
    length: 2,
    join: () => text,
    toString: () => text,
  }
  return new Proxy(() => text, {
    get: (_, property) => known[property] ?? (() => placeholder(name)),
  })
}
