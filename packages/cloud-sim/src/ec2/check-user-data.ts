import { Ec2Refusal } from './refusal.ts'

const BYTES_MAX = 16 * 1024

/** EC2 counts the decoded bytes. */
export function checkUserData(base64: string | null): void {
  if (base64 === null) return
  if (!/^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(base64)) throw malformed('Invalid BASE64 encoding of user data.')
  if (Buffer.from(base64, 'base64').length > BYTES_MAX) throw malformed(`User data is limited to ${BYTES_MAX} bytes`)
}

const malformed = (message: string) => new Ec2Refusal('InvalidUserData.Malformed', message)
