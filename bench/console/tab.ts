import type { Browser, CDPSession } from 'playwright-core'
import { TOKEN } from '../api/processes.ts'

/**
 * A tab as people have it: one that no debugger listens to the network of. A tab that playwright opens keeps the body of every
 * answer in its own memory for whoever may ask for it, which is 50 MB for ten thousand workers and grows with each event.
 */
export interface Tab {
  /** A command of the DevTools protocol. */
  send<T>(method: string, params?: object): Promise<T>
  /** The value of an expression, once it is there. */
  evaluate<T>(expression: string): Promise<T>
  close(): Promise<void>
}

/** Notes when each frame begins. `performance.now` is the page's, so nothing of the bench is in it. */
const FRAMES = `
  window.frameStarts = []
  const note = now => { window.frameStarts.push(now); requestAnimationFrame(note) }
  requestAnimationFrame(note)
`
const [WIDTH, HEIGHT] = [1440, 900]

/** A tab of a browser that was never here before. Playwright leaves alone what it did not open itself. */
export async function newTab(browser: Browser): Promise<Tab> {
  const session = await browser.newBrowserCDPSession()
  const { browserContextId } = await session.send('Target.createBrowserContext')
  const size = { width: WIDTH, height: HEIGHT }
  const { targetId } = await session.send('Target.createTarget', { url: 'about:blank', browserContextId, ...size })
  const { sessionId } = await session.send('Target.attachToTarget', { targetId, flatten: false })
  const send = sender(session, sessionId)
  await send('Emulation.setDeviceMetricsOverride', { ...size, deviceScaleFactor: 1, mobile: false })
  await send('Emulation.setLocaleOverride', { locale: 'en-US' })
  // Needed for the header; a byte is too little room for any body.
  await send('Network.enable', { maxTotalBufferSize: 1, maxResourceBufferSize: 1 })
  await send('Network.setExtraHTTPHeaders', { headers: { authorization: `Bearer ${TOKEN}` } })
  await send('Page.enable')
  await send('Page.addScriptToEvaluateOnNewDocument', { source: FRAMES })
  return {
    send,
    async evaluate<T>(expression: string) {
      const params = { expression, awaitPromise: true, returnByValue: true, userGesture: true }
      const { result, exceptionDetails } = await send<Evaluated<T>>('Runtime.evaluate', params)
      if (exceptionDetails !== undefined) throw new Error(`${expression}: ${JSON.stringify(exceptionDetails)}`)
      return result.value
    },
    async close() {
      await session.send('Target.disposeBrowserContext', { browserContextId })
      await session.detach()
    },
  }
}

interface Evaluated<T> {
  readonly result: { readonly value: T }
  readonly exceptionDetails?: object
}

interface Answer {
  readonly id?: number
  readonly result?: unknown
  readonly error?: object
}

function sender(session: CDPSession, sessionId: string): Tab['send'] {
  const waiting = new Map<number, (answer: Answer) => void>()
  let sent = 0
  session.on('Target.receivedMessageFromTarget', ({ message }) => {
    const answer: Answer = JSON.parse(message)
    if (answer.id === undefined) return
    waiting.get(answer.id)?.(answer)
    waiting.delete(answer.id)
  })
  return async <T>(method: string, params: object = {}) => {
    sent += 1
    const id = sent
    const answered = new Promise<Answer>(done => waiting.set(id, done))
    await session.send('Target.sendMessageToTarget', { sessionId, message: JSON.stringify({ id, method, params }) })
    const { result, error } = await answered
    if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`)
    return result as T
  }
}

/** Shows an address and waits until there is something that the selector finds. */
export async function show(tab: Tab, url: string, selector: string): Promise<void> {
  await tab.send('Page.navigate', { url })
  await tab.evaluate(`new Promise(done => {
    const look = () => document.querySelector(${JSON.stringify(selector)}) ? done() : requestAnimationFrame(look)
    look()
  })`)
}
