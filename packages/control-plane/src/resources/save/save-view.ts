import type { Save } from '@lcm/domain/save/save'
import type { StoredSave } from '../../internal-documents.ts'

export const saveView = ({ sealed_key: _, needed_by: __, ...save }: StoredSave): Save => save
