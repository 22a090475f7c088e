import type { NotificationSetting } from '@lcm/control-plane/resources/notification/send-message'
import type { WebhookEnvironment } from '../environment/environment.ts'
import { outboundFetch } from './outbound-fetch.ts'
import { emailSender } from './send-email.ts'

export function notificationsOf(env: WebhookEnvironment, source: string): NotificationSetting {
  const outbound = { privateHosts: env.LCM_OUTBOUND_PRIVATE_HOSTS }
  const { LCM_SMTP_URL: url, LCM_SMTP_FROM: from } = env
  const sendEmail = url === undefined || from === undefined ? null : emailSender({ url, from, outbound })
  return { source, fetch: outboundFetch(outbound), sendEmail }
}
