// Sources written for Apple's platforms import Network alone and use `DispatchQueue` and `Data` all the same, because Apple's module
// passes on what its own interface is made of.
@_exported public import Dispatch
@_exported public import FoundationEssentials
