import type { Save } from '@lcm/domain/session/save'
import type { StoredSave } from '../../internal-documents.ts'

export const saveView = ({ sealed_key: _, needed_by: __, ...save }: StoredSave): Save => save
