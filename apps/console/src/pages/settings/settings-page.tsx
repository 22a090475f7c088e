import type { AnswerOf } from '@lcm/contract/routes'
import { useSignal } from '@preact/signals'
import { useConsole } from '../../parts/console-context.ts'
import { Timestamp } from '../../parts/timestamp.tsx'
import { useRead } from '../../parts/use-read.ts'
import { isAllowed } from '../../state/permission.ts'
import type { Query } from '../../state/router.ts'
import { NotificationsCard } from './notifications-card.tsx'
import { SETTING_GROUPS, type SettingGroup } from './setting-docs.ts'
import { SettingRow } from './setting-row.tsx'
import { TokensCard } from './tokens-card.tsx'

type SettingsView = AnswerOf<'getSettings'>

export function SettingsPage(_: { query: Query }) {
  const { state } = useConsole()
  const read = useRead('settings', (client, signal) => client.call('getSettings', { signal }), {
    updatesOf: 'settings',
  })
  // The response to a change may arrive before its event.
  const answered = useSignal<SettingsView | null>(null)
  const shown = newerOf(read.value, answered.value)
  const mayEdit = isAllowed(state.info.value, 'patchSettings')
  return (
    <section class="page settings">
      <header class="page-head">
        <h1 tabIndex={-1}>Settings</h1>
        <p class="muted">
          {mayEdit ? 'Changes take effect immediately.' : 'Only administrators can change them.'}{' '}
          {shown?.updated_at && (
            <>
              Last changed <Timestamp at={shown.updated_at} />.
            </>
          )}
        </p>
      </header>
      {shown === null && read.error === null && <div class="bone settings-bone" aria-busy="true" />}
      {read.error !== null && (
        <div class="refusal tone-red settings-error">
          Could not load the settings: {read.error}
          <button type="button" class="button small" onClick={read.reload}>
            Retry
          </button>
        </div>
      )}
      {shown !== null &&
        SETTING_GROUPS.map(group => (
          <GroupCard
            key={group.title}
            group={group}
            view={shown}
            onSaved={view => {
              answered.value = view
            }}
            onRefused={read.reload}
          />
        ))}
      {isAllowed(state.info.value, 'listNotificationTargets') && <NotificationsCard />}
      {isAllowed(state.info.value, 'listTokens') && <TokensCard />}
    </section>
  )
}

const newerOf = (a: SettingsView | null, b: SettingsView | null): SettingsView | null =>
  (a?.version ?? -1) >= (b?.version ?? -1) ? a : b

interface GroupProps {
  readonly group: SettingGroup
  readonly view: SettingsView
  readonly onSaved: (view: SettingsView) => void
  readonly onRefused: () => void
}

function GroupCard({ group, view, onSaved, onRefused }: GroupProps) {
  const titleId = `settings-${group.title.toLowerCase().replaceAll(' ', '-')}`
  return (
    <section class="card setting-group" aria-labelledby={titleId}>
      <h2 id={titleId}>{group.title}</h2>
      {group.names.map(name => {
        const setting = view.settings[name]
        return (
          setting && (
            <SettingRow
              key={name}
              name={name}
              setting={setting}
              version={view.version}
              onSaved={onSaved}
              onRefused={onRefused}
            />
          )
        )
      })}
    </section>
  )
}
