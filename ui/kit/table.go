//go:build darwin || gnustep

package kit

import (
	"github.com/progrium/darwinkit/macos/appkit"
	"github.com/progrium/darwinkit/macos/foundation"
	"github.com/progrium/darwinkit/objc"
)

// Rows is the data source of a table with one column of text in cells.
type Rows struct {
	Count func() int
	Text  func(row int) string
}

// NumberOfRowsInTableView answers AppKit.
func (r *Rows) NumberOfRowsInTableView(appkit.TableView) int { return r.Count() }

// HasNumberOfRowsInTableView answers AppKit, as all that follow do.
func (r *Rows) HasNumberOfRowsInTableView() bool { return true }

// TableViewObjectValueForTableColumnRow returns the text of a row.
func (r *Rows) TableViewObjectValueForTableColumnRow(_ appkit.TableView, _ appkit.TableColumn, row int) objc.Object {
	if row < 0 || row >= r.Count() {
		return objc.Object{}
	}
	return foundation.String_StringWithString(Clean(r.Text(row))).Object
}

// HasTableViewObjectValueForTableColumnRow is true: the table shows cells.
func (r *Rows) HasTableViewObjectValueForTableColumnRow() bool { return true }

// The rest of the protocol is not offered.

// TableViewSetObjectValueForTableColumnRow is not offered.
func (r *Rows) TableViewSetObjectValueForTableColumnRow(appkit.TableView, objc.Object, appkit.TableColumn, int) {
}

// HasTableViewSetObjectValueForTableColumnRow is false.
func (r *Rows) HasTableViewSetObjectValueForTableColumnRow() bool { return false }

// TableViewSortDescriptorsDidChange is not offered.
func (r *Rows) TableViewSortDescriptorsDidChange(appkit.TableView, []foundation.SortDescriptor) {}

// HasTableViewSortDescriptorsDidChange is false.
func (r *Rows) HasTableViewSortDescriptorsDidChange() bool { return false }

// TableViewDraggingSessionEndedAtPointOperation is not offered.
func (r *Rows) TableViewDraggingSessionEndedAtPointOperation(appkit.TableView, appkit.DraggingSession,
	foundation.Point, appkit.DragOperation) {
}

// HasTableViewDraggingSessionEndedAtPointOperation is false.
func (r *Rows) HasTableViewDraggingSessionEndedAtPointOperation() bool { return false }

// TableViewDraggingSessionWillBeginAtPointForRowIndexes is not offered.
func (r *Rows) TableViewDraggingSessionWillBeginAtPointForRowIndexes(appkit.TableView, appkit.DraggingSession,
	foundation.Point, foundation.IndexSet) {
}

// HasTableViewDraggingSessionWillBeginAtPointForRowIndexes is false.
func (r *Rows) HasTableViewDraggingSessionWillBeginAtPointForRowIndexes() bool { return false }

// TableViewAcceptDropRowDropOperation is not offered.
func (r *Rows) TableViewAcceptDropRowDropOperation(appkit.TableView, appkit.DraggingInfoObject, int,
	appkit.TableViewDropOperation,
) bool {
	return false
}

// HasTableViewAcceptDropRowDropOperation is false.
func (r *Rows) HasTableViewAcceptDropRowDropOperation() bool { return false }

// TableViewPasteboardWriterForRow is not offered.
func (r *Rows) TableViewPasteboardWriterForRow(appkit.TableView, int) appkit.PasteboardWritingObject {
	return appkit.PasteboardWritingObject{}
}

// HasTableViewPasteboardWriterForRow is false.
func (r *Rows) HasTableViewPasteboardWriterForRow() bool { return false }

// TableViewUpdateDraggingItemsForDrag is not offered.
func (r *Rows) TableViewUpdateDraggingItemsForDrag(appkit.TableView, appkit.DraggingInfoObject) {}

// HasTableViewUpdateDraggingItemsForDrag is false.
func (r *Rows) HasTableViewUpdateDraggingItemsForDrag() bool { return false }

// TableViewValidateDropProposedRowProposedDropOperation is not offered.
func (r *Rows) TableViewValidateDropProposedRowProposedDropOperation(appkit.TableView, appkit.DraggingInfoObject, int,
	appkit.TableViewDropOperation,
) appkit.DragOperation {
	return 0
}

// HasTableViewValidateDropProposedRowProposedDropOperation is false.
func (r *Rows) HasTableViewValidateDropProposedRowProposedDropOperation() bool { return false }
