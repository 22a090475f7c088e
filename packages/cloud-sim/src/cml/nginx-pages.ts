import type { CmlAnswer } from './http-messages.ts'

const TITLES = {
  413: '413 Request Entity Too Large',
  429: '429 Too Many Requests',
  502: '502 Bad Gateway',
} as const

/** Error page of the web server in front of CML. */
export function nginxPage(status: keyof typeof TITLES): CmlAnswer {
  const title = TITLES[status]
  const text =
    `<html>\r\n<head><title>${title}</title></head>\r\n<body>\r\n<center><h1>${title}</h1></center>\r\n` +
    '<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n'
  return { status, text, content_type: 'text/html' }
}
