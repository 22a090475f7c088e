import './zod-without-eval.ts'

import { apiClient } from '@lcm/client/client'
import { httpTransport } from '@lcm/client/http-transport'
import { assert } from '@lcm/domain/assert'
import { computed, signal } from '@preact/signals'
import { options, render, type VNode } from 'preact'
import { ConsoleContext, type ConsoleParts } from './parts/console-context.ts'
import { App } from './parts/shell/app.tsx'
import { browserClock, ticking } from './state/browser-clock.ts'
import { liveState } from './state/live-state.ts'
import { liveStream } from './state/live-stream.ts'
import { noticeBoard } from './state/notices.ts'
import { requestTracker } from './state/request-tracker.ts'
import { hashRouter } from './state/router.ts'
import { requestSignIn } from './state/sign-in.ts'
import { themeChoice } from './state/theme.ts'

// Renders at most once per frame, and never in a hidden tab.
options.debounceRendering = requestAnimationFrame

const transport = httpTransport({ baseUrl: location.origin, clock: browserClock })
const state = liveState()
const stream = liveStream({ transport, clock: browserClock, state })
const notices = noticeBoard(browserClock)
const client = apiClient(transport)
const router = hashRouter(window)
const ticks = ticking(browserClock)
const parts: ConsoleParts = {
  client,
  transport,
  state,
  stream,
  notices,
  requests: requestTracker({ client, live: state.live, notices }),
  router,
  themeChoice: themeChoice(document.documentElement, () => localStorage),
  dialog: signal<VNode | null>(null),
  nowMs: computed(() => ticks.value + state.clockSkewMs.value),
  async signIn(credentials) {
    const failure = await requestSignIn(transport, credentials)
    if (failure !== null) return failure
    // Replaces the address with the code, which is used up.
    if (router.route.peek().page === 'sign-in') history.replaceState(null, '', '#/overview')
    location.reload()
    return null
  },
  async logOut() {
    const { ok } = await fetch('/logout', { method: 'POST' }).catch(() => ({ ok: false }))
    if (ok) location.reload()
    else notices.show('refused', 'Could not log out', 'LCM is not responding. You are still signed in.')
  },
}

const root = document.getElementById('console')
assert(root, 'index.html has no #console')
render(
  <ConsoleContext.Provider value={parts}>
    <App />
  </ConsoleContext.Provider>,
  root,
)

window.addEventListener('online', stream.retryNow)
// When the tab gets the focus again, the user may have signed in elsewhere or woken the computer.
window.addEventListener('focus', stream.retryNow)
stream.run(new AbortController().signal)
