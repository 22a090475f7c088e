import type { ApiResponse, Dispatch } from '@lcm/contract/route-spec'

export const HOST = 'localhost:8080'
export const ORIGIN = { origin: `http://${HOST}` }

/** A request of a browser: no token, with its cookies and origin. */
export const browse = (
  { dispatch }: { dispatch: Dispatch },
  method: string,
  url: string,
  { body = null, ...headers }: Record<string, string> & { body?: string | null } = {},
): Promise<ApiResponse> =>
  dispatch({ method, url, headers: { host: HOST, ...headers }, body, signal: new AbortController().signal })

/** A sign-in as the page of the console sends it. */
export const signIn = (on: { dispatch: Dispatch }, credentials: object, headers: Record<string, string> = {}) =>
  browse(on, 'POST', '/login', {
    ...ORIGIN,
    'content-type': 'application/json',
    body: JSON.stringify(credentials),
    ...headers,
  })

export const codeOf = (link: string): string => new URL(link, `http://${HOST}`).hash.split('code=')[1] ?? ''

/** The cookies that an answer sets, as a browser sends them back. */
export const cookiesOf = ({ headers }: Pick<ApiResponse, 'headers'>): string[] =>
  (headers['set-cookie'] ?? '').split('\n').map(cookie => cookie.split(';')[0] ?? '')

export const cookieOf = (answer: Pick<ApiResponse, 'headers'>): string => cookiesOf(answer)[0] ?? ''

/** Actor of a session, or the status that refuses it. */
export async function whoIs(on: { dispatch: Dispatch }, cookie: string) {
  const { status, body } = await browse(on, 'GET', '/api/v1/info', { cookie })
  return status === 200 ? JSON.parse(String(body)).actor : status
}
