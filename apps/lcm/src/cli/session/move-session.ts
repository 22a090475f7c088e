import { type Client, unlessMissing } from '@lcm/client/client'
import type { Save } from '@lcm/domain/save/save'
import type { LabletSession } from '@lcm/domain/session/lablet-session'
import { isLeaving, moveWarning } from '@lcm/domain/session/session-move-request'
import { momentText } from '@lcm/domain/text/format-amounts'
import type { Command } from 'commander'
import type { Shell } from '../command-dependencies.ts'
import { findSession } from '../find-resource.ts'
import type { Invocation } from '../invocation.ts'
import { newestSave } from '../save/save-kind.ts'
import { confirmWarning } from '../terminal/confirm-by-name.ts'
import { type ActionOptions, addAction, settle } from '../waitable-command.ts'
import { namesFor } from '../worker/worker-names.ts'
import { distanceOf } from './session-view.ts'
import { sessionSettling } from './session-wait-goal.ts'

interface MoveOptions extends ActionOptions {
  readonly yes?: boolean
}

export function defineMove(group: Command, shell: Shell): void {
  addAction<MoveOptions>(group, shell, {
    noun: 'session',
    summary: 'Move a session to another worker; its lab starts again from its last save',
    run: move,
  }).option('-y, --yes', 'Skip the confirmation')
  const examples = [
    'lcm move session ls-0n4k2m7a8q1cd --reason "its CML does not answer" --wait',
    'lcm move session ls-0n4k2m7a8q1cd --yes     skip the confirmation, for scripts',
  ]
  group.addHelpText('afterAll', `\nExamples:\n${examples.map(line => `  ${line}`).join('\n')}`)
}

async function move(id: string, options: MoveOptions, invoked: Invocation): Promise<void> {
  const { signal, clock } = invoked.shell
  const { client } = await invoked.connect()
  const found = await findSession(client, id, signal)
  if (!options.yes) {
    const save = await newestSave(client, found, signal)
    const savedAt = save === null ? null : savedAtText(save, clock.now())
    const warning = moveWarning(found, savedAt, await savesEnabled(client, found, signal))
    await confirmWarning({ name: found.id, expected: 'its id', warning }, invoked)
  }
  const session = await client.call('moveSession', {
    params: { id: found.id },
    body: { reason: options.reason },
    signal,
  })
  const settling = sessionSettling(await namesFor(options, client, signal))
  const how = isLeaving(session) ? ' after a last save of its work, within a minute' : ''
  const message = `session ${session.id} moves to another worker${how}; it is ${session.status} now`
  return settle({ client, item: session, settling, message }, options, invoked)
}

async function savesEnabled(client: Client, { definition }: LabletSession, signal: AbortSignal): Promise<boolean> {
  const found = await unlessMissing(client.call('getDefinition', { params: { id: definition.id }, signal }))
  return found?.saves_enabled === true
}

const savedAtText = ({ created_at }: Save, nowMs: number): string =>
  `${momentText(created_at)} (${distanceOf(created_at, nowMs)})`
