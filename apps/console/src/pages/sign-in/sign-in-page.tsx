import { useSignal } from '@preact/signals'
import { useConsole } from '../../parts/console-context.ts'
import { TextField } from '../../parts/dialog/fields.tsx'
import { Refusal } from '../../parts/dialog/modal.tsx'
import { PageState } from '../../parts/shell/page-states.tsx'
import type { Query } from '../../state/router.ts'
import { type Credentials, type SignInFailure, signInFailureText } from '../../state/sign-in.ts'

/** Target of login links and of failed sign-ins. Links sign in after a click, because link scanners open them too. */
export function SignInPage({ query = {} }: { query?: Query }) {
  const { state, signIn } = useConsole()
  const connection = state.connection.value
  const account = connection.state === 'signed-out' ? connection.signIn : null
  const isSending = useSignal(false)
  const failure = useSignal<SignInFailure | null>(failureIn(query))
  const send = async (credentials: Credentials) => {
    if (isSending.value) return
    isSending.value = true
    failure.value = await signIn(credentials)
    isSending.value = failure.value === null
  }
  const { code = '' } = query
  return (
    <PageState icon="key" title="Sign in to see the fleet">
      {failure.value !== null && <Refusal>{signInFailureText(failure.value)}</Refusal>}
      {state.info.value !== null && (
        <p>
          You are signed in as {state.info.value.actor?.name}. <a href="#/overview">Continue</a>
        </p>
      )}
      {code !== '' && (
        <button type="button" class="button primary" disabled={isSending.value} onClick={() => send({ code })}>
          Sign in with this link
        </button>
      )}
      {account !== null && (
        <a class="button primary" href={account}>
          Sign in with your account
        </a>
      )}
      <TokenForm onSend={token => send({ token })} />
      <p class="muted">
        No token? Open the login link printed by <code class="command">npm start</code>, or run{' '}
        <code class="command">npx lcm open</code> for a new one.
      </p>
    </PageState>
  )
}

const failureIn = ({ failed = '' }: Query): SignInFailure | null =>
  failed === '' ? null : { by: 'account', code: failed }

function TokenForm({ onSend }: { onSend: (token: string) => Promise<void> }) {
  const token = useSignal('')
  const submit = async (event: Event) => {
    event.preventDefault()
    const given = token.value.trim()
    if (given === '') return
    token.value = ''
    await onSend(given)
  }
  return (
    <form class="sign-in-form" onSubmit={submit}>
      <TextField label="Token" value={token} isSecret autocomplete="current-password" />
      <button type="submit" class="button">
        Sign in with a token
      </button>
    </form>
  )
}
