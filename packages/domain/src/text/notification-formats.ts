import type { Message } from '../notification/notification-target.ts'

const LINK_TEXT = 'Open in LCM'

/**
 * Slack reads these three characters as markup. `mrkdwn` is off, so nothing else is. Services such as Mattermost also read
 * `@all` as a mention, so a name can't call everyone: an invisible character ends it.
 */
const escapeSlack = (text: string): string =>
  text
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/(?<!\w)@(?=\w)/g, '@\u200b')

/** Body of a request to an incoming webhook. */
export function slackBody({ title, lines, link }: Message): { readonly text: string; readonly mrkdwn: false } {
  const linked = link === null ? [] : [`<${escapeSlack(link).replaceAll('|', '%7C')}|${LINK_TEXT}>`]
  return { text: [...[title, ...lines].map(escapeSlack), ...linked].join('\n'), mrkdwn: false }
}

export interface EmailText {
  readonly subject: string
  readonly text: string
  readonly html: string
}

const escapeHtml = (text: string): string =>
  text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;').replace(/'/g, '&#39;')

export function emailText({ title, lines, link }: Message): EmailText {
  const paragraphs = [`<strong>${escapeHtml(title)}</strong>`, ...lines.map(escapeHtml)]
  const linked = link === null ? [] : [`<a href="${escapeHtml(link)}">${LINK_TEXT}</a>`]
  return {
    subject: title,
    text: `${[title, ...lines, ...(link === null ? [] : [link])].join('\n\n')}\n`,
    html: [...paragraphs, ...linked].map(each => `<p>${each}</p>`).join('\n'),
  }
}

/** What the test button sends. */
export const testMessage = (target: string, publicUrl: string | null): Message => ({
  kind: 'session_ready',
  severity: 'info',
  is_resolved: false,
  title: `Test message of LCM to ${target}`,
  lines: ['Notifications to this target work. You can ignore this message.'],
  link: publicUrl,
  subjects: [],
})
