import type { Socket } from 'node:net'
import { NOT_PUBLIC } from '@lcm/control-plane/changes/webhook/http-post'
import type { NotificationSetting } from '@lcm/control-plane/resources/notification/send-message'
import { systemClock } from '@lcm/runtime/clock'
import { createTransport } from 'nodemailer'
import { AddressRefusedError, type OutboundOptions, outboundSocket } from './outbound-fetch.ts'

/** A slower server is tried again later. */
const SEND_MS_MAX = 20_000
const REASON_CHARS_MAX = 200

type SendEmail = NonNullable<NotificationSetting['sendEmail']>
type Delivery = Awaited<ReturnType<SendEmail>>

type OnSocket = (error: Error | null, socket?: { connection: Socket }) => void

interface SmtpSetting {
  /** Holds the password, so it is never logged. */
  readonly url: string
  readonly from: string
  readonly outbound: OutboundOptions
  /** Authorities besides those of the system. */
  readonly ca?: string
}

/** Sends email by SMTP over TLS: from the start with `smtps`, else by STARTTLS. It never sends anything unencrypted. */
export function emailSender({ url, from, outbound, ca }: SmtpSetting): SendEmail {
  const { protocol, hostname, port: given, username, password } = new URL(url)
  const secure = protocol === 'smtps:'
  const port = given === '' ? (secure ? '465' : '587') : given
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  const auth =
    username === '' ? {} : { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }
  return async ({ to, id, subject, text, html }, signal) => {
    const socket = outboundSocket(outbound, { protocol, hostname, port })
    if (socket instanceof AddressRefusedError) return deliveryOf(socket)
    const end = () => socket.destroy(new Error(`no answer within ${SEND_MS_MAX / 1000} s`))
    const cancel = systemClock.after(SEND_MS_MAX, end)
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
    try {
      const transport = createTransport({
        host,
        port: Number(port),
        secure,
        requireTLS: !secure,
        ...auth,
        tls: { servername: host, ...(ca === undefined ? {} : { ca }) },
        getSocket: (_: unknown, callback: OnSocket) => {
          socket.once('error', callback)
          socket.once('connect', () => {
            socket.removeListener('error', callback)
            callback(null, { connection: socket })
          })
        },
      })
      const messageId = `<${id}@${from.split('@').at(-1)}>`
      await transport.sendMail({ from, to: [...to], subject, text, html, messageId, headers: AUTOMATIC })
      return { outcome: 'accepted' }
    } catch (error) {
      return deliveryOf(error)
    } finally {
      cancel()
      signal.removeEventListener('abort', end)
      socket.destroy()
    }
  }
}

/** Asks mail systems not to answer with an absence note. */
const AUTOMATIC = { 'Auto-Submitted': 'auto-generated' }

/** A wrong login or certificate is the operator's to correct, so it is worth a retry; a refused recipient is not. */
function deliveryOf(error: unknown): Delivery {
  const { code, responseCode, message } = error as { code?: string; responseCode?: number; message?: string }
  if (code === 'ADDRESS_REFUSED') return { outcome: 'failed', reason: NOT_PUBLIC }
  const reason = String(message ?? code)
    .replace(/\s+/g, ' ')
    .slice(0, REASON_CHARS_MAX)
  const isRefused = responseCode !== undefined && responseCode >= 550 && responseCode < 560 && code !== 'EAUTH'
  return { outcome: isRefused ? 'refused' : 'failed', reason }
}
