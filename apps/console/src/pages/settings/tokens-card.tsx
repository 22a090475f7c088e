import { readList } from '@lcm/client/list-pages'
import type { AnswerOf } from '@lcm/contract/routes'
import { toMs } from '@lcm/domain/instant'
import type { Token } from '@lcm/domain/token'
import { useSignal } from '@preact/signals'
import { useConsole } from '../../parts/console-context.ts'
import { ConfirmDialog } from '../../parts/dialog/confirm-dialog.tsx'
import { NamedIcon } from '../../parts/icons.tsx'
import { ShownOnce } from '../../parts/shown-once.tsx'
import { useRead } from '../../parts/use-read.ts'
import { failureText } from '../../state/failure-text.ts'
import { dayText, exactText } from '../../state/time-format.ts'
import { NewTokenDialog } from './new-token-dialog.tsx'
import { inOrder, isExpired } from './token-expiry.ts'

const READ_EVERY_MS = 30_000

export function TokensCard() {
  const { dialog, nowMs } = useConsole()
  const read = useRead(
    'tokens',
    (client, signal) => readList(page => client.call('listTokens', { query: page, signal })),
    { everyMs: READ_EVERY_MS },
  )
  const made = useSignal<AnswerOf<'createToken'> | null>(null)
  const onMade = (token: AnswerOf<'createToken'>) => {
    made.value = token
    read.reload()
  }
  const open = () => {
    dialog.value = <NewTokenDialog onMade={onMade} />
  }
  const tokens = inOrder(read.value?.items ?? [], nowMs.value)
  return (
    <section class="card tokens" aria-labelledby="tokens-title">
      <header class="tokens-head">
        <h2 id="tokens-title">Tokens</h2>
        <p class="muted">API tokens for programs, and for people without an account.</p>
        <button type="button" class="button small" onClick={open}>
          <NamedIcon name="plus" />
          Create token
        </button>
      </header>
      {made.value !== null && (
        <ShownOnce
          key={made.value.id}
          secret={made.value.secret}
          verb="Copy secret"
          onDone={() => {
            made.value = null
          }}
        >
          Token <strong>{made.value.name}</strong> created. Copy its secret now. It won't be shown again.
        </ShownOnce>
      )}
      {read.error !== null && <p class="muted">Could not load the tokens: {read.error}</p>}
      {read.value !== null && tokens.length === 0 && (
        <p class="muted">No tokens yet. Create one per program or person, with the least privileged role that works.</p>
      )}
      {tokens.length > 0 && (
        <ul class="token-list">
          {tokens.map(token => (
            <TokenRow key={token.id} token={token} onRevoked={read.reload} />
          ))}
        </ul>
      )}
    </section>
  )
}

function TokenRow({ token, onRevoked }: { token: Token; onRevoked: () => void }) {
  const { nowMs } = useConsole()
  const hasExpired = isExpired(token, nowMs.value)
  return (
    <li class={`token ${hasExpired ? 'over' : ''}`}>
      <span class="token-name">
        {token.name}
        <span class="sub mono">{token.id}</span>
      </span>
      <span>
        {token.role}
        {token.service !== null && <span class="sub">{token.service}</span>}
      </span>
      <span class="muted" title={exactText(toMs(token.created_at))}>
        Created {dayText(toMs(token.created_at))}
      </span>
      <span class="muted" title={token.expires_at === null ? undefined : exactText(toMs(token.expires_at))}>
        {expiryText(token, hasExpired)}
      </span>
      <RevokeButton token={token} onRevoked={onRevoked} />
    </li>
  )
}

function expiryText({ expires_at }: Token, hasExpired: boolean): string {
  if (expires_at === null) return 'Never expires'
  return `${hasExpired ? 'Expired' : 'Expires'} ${dayText(toMs(expires_at))}`
}

/** A token stays listed until the API confirms that it is revoked. */
function RevokeButton({ token, onRevoked }: { token: Token; onRevoked: () => void }) {
  const { client, dialog, notices } = useConsole()
  const isPending = useSignal(false)
  const revoke = async () => {
    isPending.value = true
    try {
      await client.call('deleteToken', { params: { id: token.id } })
      notices.show('done', `Token ${token.name} revoked`)
    } catch (error) {
      isPending.value = false
      notices.show('refused', `Could not revoke ${token.name}`, failureText(error))
    }
    onRevoked()
  }
  const confirm = () => {
    dialog.value = <RevokeDialog token={token} onConfirm={revoke} />
  }
  return (
    <button
      type="button"
      class={`button small danger ${isPending.value ? 'requested' : ''}`}
      aria-disabled={isPending.value}
      onClick={() => !isPending.value && confirm()}
    >
      {isPending.value ? 'Revoking…' : 'Revoke'}
      <span class="sr-only"> {token.name}</span>
    </button>
  )
}

function RevokeDialog({ token, onConfirm }: { token: Token; onConfirm: () => void }) {
  const { state } = useConsole()
  return (
    <ConfirmDialog title={`Revoke ${token.name}?`} verb="Revoke" typed={token.name} onConfirm={onConfirm}>
      <p>
        LCM rejects this token from now on and ends all sign-ins of its person. This can't be undone: a new token has a
        new secret.
      </p>
      {state.info.value?.actor.id === token.person_id && (
        <p>
          <strong>This is your own token, so you will be signed out.</strong>
        </p>
      )}
    </ConfirmDialog>
  )
}
