import type { Save } from '@lcm/domain/save/save'
import { isSaved, lastSaveText, saveSizeText } from '@lcm/domain/save/save-text'
import { isUp, type LabletSession } from '@lcm/domain/session/lablet-session'
import type { Command } from 'commander'
import { saveFile } from '../backup/save-file.ts'
import type { Shell } from '../command-dependencies.ts'
import { findSession } from '../find-resource.ts'
import { type Invocation, invocation } from '../invocation.ts'
import { SESSIONS } from '../resource-kinds.ts'
import { type Fact, factLines, section, tableOf } from '../terminal/description-sections.ts'
import type { Colors } from '../terminal/output.ts'
import { printable } from '../terminal/table.ts'
import { impossible, reached, underWay, type Verdict, type Waited } from '../wait-for-goal.ts'
import { type ActionOptions, addAction, type Settling, settle } from '../waitable-command.ts'
import { ageOf } from '../worker/worker-view.ts'
import { findSave } from './save-kind.ts'

export function defineSave(group: Command, shell: Shell): void {
  addAction<ActionOptions>(group, shell, { noun: 'session', summary: 'Save the work in a running lab now', run: save })
  group.addHelpText('afterAll', SAVE_EXAMPLES)
}

const SAVE_EXAMPLES = `
The lab keeps running. Nodes whose console is in use are skipped; the save says which.

Examples:
  lcm save session ls-0n4k2m7a8q1cd --wait
  lcm get saves --session ls-0n4k2m7a8q1cd
  lcm book --resume sv-0n4k2m7a8q1cd          continue with the saved work in a new session`

async function save(id: string, options: ActionOptions, invoked: Invocation): Promise<void> {
  const { signal } = invoked.shell
  const { client } = await invoked.connect()
  await findSession(client, id, signal)
  const session = await client.call('saveSession', { params: { id }, body: { reason: options.reason }, signal })
  const message = `session ${id} will be saved; its lab keeps running`
  return settle({ client, item: session, settling: SAVE_SETTLING, message }, options, invoked)
}

/** The request is served as soon as the session no longer has it. */
function judge({ status, save: state }: LabletSession, requestedAt: string | null): Verdict {
  if (state.requested_at === requestedAt && requestedAt !== null)
    return isUp(status) ? underWay : impossible(`is ${status} and was not saved`)
  return isSaved(state) ? reached : impossible(`was not saved: ${state.outcome?.message ?? 'no reason is recorded'}`)
}

const waitedSave = (start: LabletSession): Waited<LabletSession> => ({
  start,
  noun: 'session',
  name: `session ${start.id}`,
  handle: start.id,
  mayVanish: false,
  read: (client, signal) => client.call('getSession', { params: { id: start.id }, signal }),
  changed: SESSIONS.changed,
  deleted: SESSIONS.deleted,
  judge: session => judge(session, start.save.requested_at),
  progressText: ({ id, status }) => `session ${id} is ${status}: its lab is being saved`,
})

const SAVE_SETTLING: Settling<LabletSession> = {
  view: SESSIONS.view,
  waited: waitedSave,
  outcome: ({ id, save: { save_id, outcome } }, elapsed) => ({
    sentence: `session ${id} saved as ${save_id} after ${elapsed}: ${outcome?.message}`,
    lines: [],
  }),
}

interface DownloadOptions {
  readonly file?: string
  readonly force?: boolean
}

export function defineDownload(group: Command, shell: Shell): void {
  group
    .command('save <id>')
    .alias('saves')
    .description('Print the topology of a save with its configurations, or write it to a file')
    .option('-f, --file <path>', 'File to write, readable only by you')
    .option('--force', 'Overwrite an existing file')
    .action(async (id: string, options: DownloadOptions, command: Command) =>
      download(id, options, invocation(command, shell)),
    )
  group.addHelpText('afterAll', DOWNLOAD_EXAMPLES)
}

const DOWNLOAD_EXAMPLES = `
CML imports the file as it is. It may contain passwords that were set in the lab.

Examples:
  lcm download save sv-0n4k2m7a8q1cd -f lab.yaml`

async function download(id: string, { file, force = false }: DownloadOptions, invoked: Invocation): Promise<void> {
  const { shell, output, connect } = invoked
  const { signal } = shell
  const { client } = await connect()
  await findSave(client, id, signal)
  const { topology } = await client.call('getSaveTopology', { params: { id }, signal })
  if (file === undefined) return output.out(topology.trimEnd())
  await saveFile(file, async () => bytesOf(topology), { force, check: async () => undefined })
  if (!output.quiet) output.out(`save ${id} written to ${file}`)
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}

export function describeSave(save: Save, nowMs: number, colors: Colors): string[] {
  const { definition, nodes } = save
  const facts: readonly Fact[] = [
    ['session', save.session_id],
    ['owner', printable(save.owner_name || save.owner)],
    ['cause', save.is_final ? `${save.cause}, has the work at the end` : save.cause],
    ['size', saveSizeText(save)],
    ['created', `${ageOf(save.created_at, nowMs)} ago`],
    ['ended', save.session_ended_at === null ? null : `${ageOf(save.session_ended_at, nowMs)} ago`],
  ]
  const table = tableOf(
    [
      { title: 'NODE', text: node => node.label },
      { title: 'OUTCOME', text: node => node.outcome },
      { title: 'REASON', text: node => node.reason?.message ?? '' },
    ],
    nodes,
  )
  return [
    `${colors.bold(printable(`${definition.name} ${definition.version}`))}  ${save.id}`,
    ...factLines(facts, colors),
    ...section('Nodes', table, colors),
  ]
}

/** When the work of a session was saved last, and what the save lacks; null before the first attempt. */
export function lastSaveLine({ save: state }: LabletSession, newest: Save | null, nowMs: number): string | null {
  const text = lastSaveText(state, newest, at => `${ageOf(at, nowMs)} ago`)
  return text === null ? null : printable(text)
}
